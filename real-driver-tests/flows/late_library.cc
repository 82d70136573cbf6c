// SPDX-License-Identifier: Apache-2.0
#include "real-driver-tests/flows/late_library.h"

#include <unistd.h>

#include <cstdio>

namespace {

CUdeviceptr mapped, plain;
std::size_t mapped_size;

// The process has its exit code already, so a wrong answer must end it with another one.
void want(CUresult answer, const char* call) {
  if (answer == CUDA_ERROR_DEINITIALIZED) return;
  std::fprintf(stderr, "%s answered %d in a destructor\n", call, static_cast<int>(answer));
  _exit(1);
}
#define WANT(call) want((call), #call)

__attribute__((destructor)) void empty_the_cache() {
  if (!mapped) return;
  CUcontext context = nullptr;
  CUdevice device = -1;
  WANT(cuCtxGetCurrent(&context));
  WANT(cuCtxGetDevice(&device));
  WANT(cuDevicePrimaryCtxRetain(&context, 0));
  WANT(cuMemUnmap(mapped, mapped_size));
  WANT(cuMemAddressFree(mapped, mapped_size));
  WANT(cuMemFree(plain));
  WANT(cuDevicePrimaryCtxRelease(0));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void keep_until_the_end(CUdeviceptr at,
                                                                          std::size_t size,
                                                                          CUdeviceptr memory) {
  mapped = at;
  mapped_size = size;
  plain = memory;
}
