// SPDX-License-Identifier: Apache-2.0
// The CUDA version that introduced a symbol of api/entry_points.def.
#pragma once

#include <string_view>

namespace cuvmm::shim {

/// In the form of CUDA_VERSION, for "cuMulticastBindMem_v2"; 0 for a symbol that is not in the
/// table.
constexpr int introduced(std::string_view symbol) {
  struct Line {
    std::string_view symbol;
    int version;
  };
  constexpr Line kLines[] = {
#define CUVMM_SYMBOL(Name, symbol, query, version, flags) {#symbol, version},
#include "api/entry_points.def"
  };
  for (const Line& line : kLines) {
    if (line.symbol == symbol) return line.version;
  }
  return 0;
}

}  // namespace cuvmm::shim
