// SPDX-License-Identifier: Apache-2.0
// Another project's interposer: exports cuMemMap, prints that it saw the call, and forwards it.
#pragma GCC visibility push(default)
#include <dlfcn.h>
#include <unistd.h>

#include "shim/testing/misuse.h"

extern "C" CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                             CUmemGenericAllocationHandle handle, unsigned long long flags) {
  constexpr char kSaw[] = "the other interposer saw cuMemMap\n";
  if (write(STDERR_FILENO, kSaw, sizeof kSaw - 1) < 0) return CUDA_ERROR_UNKNOWN;
  const auto next = reinterpret_cast<MapFunction>(dlsym(RTLD_NEXT, "cuMemMap"));
  return next(ptr, size, offset, handle, flags);
}
