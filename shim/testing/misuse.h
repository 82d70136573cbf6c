// SPDX-License-Identifier: Apache-2.0
// The misuse that every route test makes: a map with an offset, which no CUDA version allows.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>

using MapFunction = CUresult (*)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
                                 unsigned long long);

/// Ends the test program if a condition does not hold.
inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  std::exit(1);
}

/// Calls `map`; the driver must answer the call.
inline void misuse(MapFunction map) {
  require(map != nullptr, "the function was found");
  const CUresult result = map(0x700000000000, 2 << 20, 4096, 1, 0);
  require(result == CUDA_ERROR_INVALID_VALUE, "cuMemMap with an offset is refused by the driver");
}
