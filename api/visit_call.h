// SPDX-License-Identifier: Apache-2.0
// From a stored call to its own type. Apart from api/calls.h, because it names every type.
#pragma once

#include "api/calls.h"

namespace cuvmm {

/// function(typed call), as a Result; Result{} for a call of no entry point.
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
