// SPDX-License-Identifier: Apache-2.0
// Kinds of memory locations as numbers, because CUDA 12.4's header lacks some of the enumerators.
#pragma once

#include <cuda.h>

namespace cuvmm {

inline constexpr int kLocationDevice = 1;
inline constexpr int kLocationHost = 2;
inline constexpr int kLocationHostNuma = 3;
inline constexpr int kLocationHostNumaCurrent = 4;

/// Memory of the host: HOST, HOST_NUMA.
inline bool is_host(const CUmemLocation& location) {
  const int type = static_cast<int>(location.type);
  return type == kLocationHost || type == kLocationHostNuma;
}

}  // namespace cuvmm
