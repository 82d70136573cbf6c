// SPDX-License-Identifier: Apache-2.0
// An entry point by its name.
#pragma once

#include <optional>
#include <string_view>

#include "api/calls.h"

namespace cuvmm {

/// kMemMap for "cuMemMap"; nothing for a name that is no function of entry_points.def.
inline std::optional<EntryPoint> find_entry(std::string_view function) {
  for (int i = 0; i < static_cast<int>(EntryPoint::kCount); ++i) {
    if (function == name(static_cast<EntryPoint>(i))) return static_cast<EntryPoint>(i);
  }
  return std::nullopt;
}

}  // namespace cuvmm
