// SPDX-License-Identifier: Apache-2.0
// A program that closes every descriptor that it did not open, as daemons do, and opens its own
// files at the same numbers: the emulator does not close, write to or truncate them. Mapped memory
// still works; other calls answer an error.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "emulator/testing_life/life.h"

namespace {

constexpr int kFiles = 64;
constexpr char kText[] = "the user's own bytes";

struct Everything {
  Block touched = make_block(true);
  Block untouched = make_block(true);
  Block imported;
  CUdeviceptr plain = 0;
  CUmemGenericAllocationHandle team = 0;
  CUmemoryPool pool = nullptr;
  CUevent event = nullptr;
};

Everything make_everything() {
  Everything all;
  OK(cuMemsetD8(all.touched.address, 5, kGranule));
  const int fd = exported(all.untouched);
  CUmemGenericAllocationHandle handle = 0;
  OK(import_from(fd, &handle));
  all.imported = map_block(handle);
  close(fd);
  CUipcMemHandle name;
  OK(cuMemAlloc(&all.plain, kGranule));
  OK(cuIpcGetMemHandle(&name, all.plain));
  CUmulticastObjectProp team{};
  team.numDevices = 1;
  team.size = kGranule;
  team.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  OK(cuMulticastCreate(&all.team, &team));
  CUmemPoolProps pool{};
  pool.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  pool.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  pool.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  OK(cuMemPoolCreate(&all.pool, &pool));
  int exported_pool = -1;
  OK(cuMemPoolExportToShareableHandle(&exported_pool, all.pool,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  close(exported_pool);
  CUipcEventHandle event_name;
  OK(cuEventCreate(&all.event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  OK(cuIpcGetEventHandle(&event_name, all.event));
  return all;
}

void use(const Everything& all) {
  int fd = -1;
  unsigned char byte = 0;
  OK(cuMemcpyDtoH(&byte, all.touched.address + kGranule - 1, 1));
  EXPECT(byte == 5);
  OK(cuMemsetD8(all.touched.address, 6, 64));
  EXPECT(cuMemsetD8(all.imported.address, 6, 64) != CUDA_SUCCESS);
  EXPECT(cuMemExportToShareableHandle(&fd, all.touched.handle,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) != CUDA_SUCCESS);
  EXPECT(cuMemExportToShareableHandle(&fd, all.team, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) !=
         CUDA_SUCCESS);
  EXPECT(cuMemPoolExportToShareableHandle(&fd, all.pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                          0) != CUDA_SUCCESS);
  EXPECT(cuMulticastAddDevice(all.team, 0) == CUDA_SUCCESS);
  EXPECT(cuMulticastBindMem(all.team, 0, all.touched.handle, 0, kGranule, 0) != CUDA_SUCCESS);
}

void end(const Everything& all) {
  end_block(all.touched);
  end_block(all.untouched);
  end_block(all.imported);
  OK(cuMemFree(all.plain));
  OK(cuMemRelease(all.team));
  OK(cuMemPoolDestroy(all.pool));
  OK(cuEventDestroy(all.event));
}

}  // namespace

int main() {
  use_device();
  const Everything all = make_everything();
  for (int fd = 3; fd < 256; ++fd) close(fd);
  int files[kFiles];
  for (int& file : files) {
    file = memfd_create("user", MFD_CLOEXEC);
    EXPECT(file >= 0);
    EXPECT(write(file, kText, sizeof kText) == sizeof kText);
  }
  use(all);
  end(all);
  cycle(true);
  for (const int file : files) {
    char text[sizeof kText] = {};
    struct stat status {};
    EXPECT(fstat(file, &status) == 0);
    EXPECT(status.st_size == sizeof kText);
    EXPECT(pread(file, text, sizeof text, 0) == sizeof text);
    EXPECT(std::memcmp(text, kText, sizeof kText) == 0);
  }
  return 0;
}
