// SPDX-License-Identifier: Apache-2.0
// Calls in a process that has reached a limit: nofile (descriptors), fsize (bytes of a file), as
// (address space), memory (the heap). A call that cannot work answers an error code, a call that
// can works, and no call raises a signal. For fsize and nofile calls can work, because a GPU's
// memory is not the process's.
#include <fcntl.h>
#include <sys/resource.h>

#include "emulator/testing_life/life.h"

namespace {

bool is(const char* wanted, const char* given) { return std::strcmp(wanted, given) == 0; }

void limit(int resource, rlim_t value) {
  rlimit limits{};
  EXPECT(getrlimit(resource, &limits) == 0);
  limits.rlim_cur = value;
  EXPECT(setrlimit(resource, &limits) == 0);
}

// Memory that could be exported works, although it cannot be exported now.
void use_without_files() {
  const Block block = make_block(true);
  OK(cuMemsetD8(block.address, 9, kGranule));
  unsigned char byte = 0;
  OK(cuMemcpyDtoH(&byte, block.address + kGranule - 1, 1));
  EXPECT(byte == 9);
  int fd = -1;
  EXPECT(cuMemExportToShareableHandle(&fd, block.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                      0) == CUDA_ERROR_OUT_OF_MEMORY);
  end_block(block);
  CUmulticastObjectProp prop{};
  prop.numDevices = 1;
  prop.size = kGranule;
  CUmemGenericAllocationHandle team = 0;
  EXPECT(cuMulticastCreate(&team, &prop) == CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr plain = 0;
  CUipcMemHandle name;
  OK(cuMemAlloc(&plain, kGranule));
  EXPECT(cuIpcGetMemHandle(&name, plain) != CUDA_SUCCESS);
  OK(cuMemFree(plain));
}

// Without the limit the memory can be exported, and has its contents.
void share_again(const Block& block) {
  const int fd = exported(block);
  CUmemGenericAllocationHandle handle = 0;
  OK(import_from(fd, &handle));
  const Block again = map_block(handle);
  unsigned char byte = 0;
  OK(cuMemcpyDtoH(&byte, again.address + 100, 1));
  EXPECT(byte == 3);
}

void use_until_refused() {
  constexpr int kMost = 100'000;
  CUresult result = CUDA_SUCCESS;
  for (int i = 0; i < kMost && result == CUDA_SUCCESS; ++i) {
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    const CUmemAllocationProp prop = properties(false);
    result = cuMemCreate(&handle, kGranule, &prop, 0);
    if (result == CUDA_SUCCESS) result = cuMemAddressReserve(&address, kGranule, 0, 0, 0);
    if (result == CUDA_SUCCESS) result = cuMemMap(address, kGranule, 0, handle, 0);
  }
  EXPECT(result == CUDA_ERROR_OUT_OF_MEMORY);
}

void use_up_the_heap() {
  limit(RLIMIT_AS, rlim_t{1} << 20);
  for (size_t size = size_t{1} << 20; size >= 16; size /= 2) {
    while (std::malloc(size)) {
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  EXPECT(count == 2);
  const char* const what = arguments[1];
  use_device();
  cycle();
  if (is(what, "nofile") || is(what, "fsize")) {
    const int resource = is(what, "nofile") ? RLIMIT_NOFILE : RLIMIT_FSIZE;
    rlimit before{};
    EXPECT(getrlimit(resource, &before) == 0);
    limit(resource, 0);
    cycle();
    use_without_files();
    const Block block = make_block(true);
    OK(cuMemsetD8(block.address, 3, 4096));
    EXPECT(setrlimit(resource, &before) == 0);
    share_again(block);
  } else if (is(what, "as")) {
    limit(RLIMIT_AS, rlim_t{64} << 20);
    CUdeviceptr plain = 0;
    OK(cuMemAlloc(&plain, size_t{1} << 30));
    EXPECT(cuMemsetD8(plain, 1, size_t{1} << 30) != CUDA_SUCCESS);
    OK(cuMemFree(plain));
  } else if (is(what, "memory")) {
    use_up_the_heap();
    use_until_refused();
    EXPECT(cuMemMap(0, 0, 0, 0, 0) != CUDA_SUCCESS);
    _exit(0);
  } else {
    return 2;
  }
  return 0;
}
