// SPDX-License-Identifier: Apache-2.0
// Turns a stored call into its own type. A file beside api/calls.h, because it names every type.
#pragma once

#include "api/calls.h"

namespace cuvmm {

/// Returns function(typed call) as a Result; Result{} for a Call that holds no call.
template <class Result, class Function>
Result visit_call(const Call& call, Function&& function) {
  switch (call.entry_point()) {
#define CUVMM_ENTRY(Name, area, ...) \
  case EntryPoint::k##Name:          \
    return function(*call.as<calls::Name>());
#define CUVMM_BASE(Name, ...) CUVMM_ENTRY(Name, base)
#include "api/entry_points.def"
    case EntryPoint::kCount:
      break;
  }
  return Result{};
}

}  // namespace cuvmm
