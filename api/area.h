// SPDX-License-Identifier: Apache-2.0
// The area of an entry point, from entry_points.def.
#pragma once

#include <string_view>

#include "api/calls.h"

namespace cuvmm {

/// "allocation", "pool", "data", ...; "" for a function without rules.
constexpr std::string_view area_of(EntryPoint entry) {
  switch (entry) {
#define CUVMM_ENTRY(Name, area, ...) \
  case EntryPoint::k##Name:          \
    return #area;
#include "api/entry_points.def"
    default:
      return "";
  }
}

}  // namespace cuvmm
