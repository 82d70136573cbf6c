// SPDX-License-Identifier: Apache-2.0
// The functions that the programs of this folder share. Each program tests one situation of a
// process's life, checks itself, and ends with 0 or with the line of the check that failed.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulator/testing_life/expect.h"

#define OK(call)                                                                    \
  do {                                                                              \
    const CUresult result_ = (call);                                                \
    if (result_ != CUDA_SUCCESS) {                                                  \
      std::fprintf(stderr, "%s:%d: %s = %d\n", __FILE__, __LINE__, #call, result_); \
      _exit(1);                                                                     \
    }                                                                               \
  } while (0)

inline constexpr size_t kGranule = size_t{2} << 20;

/// Uses a device of the emulator, and refuses a real driver, because these programs misuse the
/// driver and use multicast.
inline CUcontext use_device() {
  EXPECT(dlsym(RTLD_DEFAULT, "cuvmmEmulatorVersion"));
  CUcontext context = nullptr;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));
  return context;
}

/// An allocation, mapped and accessible.
struct Block {
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
};

inline CUmemAllocationProp properties(bool shareable) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  if (shareable) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return prop;
}

inline Block map_block(CUmemGenericAllocationHandle handle) {
  Block block;
  block.handle = handle;
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  OK(cuMemAddressReserve(&block.address, kGranule, 0, 0, 0));
  OK(cuMemMap(block.address, kGranule, 0, block.handle, 0));
  OK(cuMemSetAccess(block.address, kGranule, &access, 1));
  return block;
}

inline Block make_block(bool shareable) {
  const CUmemAllocationProp prop = properties(shareable);
  CUmemGenericAllocationHandle handle = 0;
  OK(cuMemCreate(&handle, kGranule, &prop, 0));
  return map_block(handle);
}

inline void end_block(const Block& block) {
  OK(cuMemUnmap(block.address, kGranule));
  OK(cuMemRelease(block.handle));
  OK(cuMemAddressFree(block.address, kGranule));
}

inline void cycle(bool shareable = false) {
  const Block block = make_block(shareable);
  if (shareable) OK(cuMemsetD8(block.address, 7, 16));
  end_block(block);
}

inline int exported(const Block& block) {
  int fd = -1;
  OK(cuMemExportToShareableHandle(&fd, block.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  return fd;
}

inline CUresult import_from(int fd, CUmemGenericAllocationHandle* handle) {
  void* const from = reinterpret_cast<void*>(static_cast<intptr_t>(fd));
  return cuMemImportFromShareableHandle(handle, from, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

/// Runs `body` in a child and returns how the child ended: its exit status, or 128 plus the
/// signal's number.
template <class Body>
int ending_of(Body&& body) {
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    body();
    std::exit(0);
  }
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
