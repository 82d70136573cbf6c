// The functions of entry_points.def that no rule covers, one overload each, in the file of its
// area.
#pragma once

#include "api/calls.h"

namespace cuvmm::emulator {

#define CUVMM_BASE(Name, ...) CUresult run_base(const calls::Name&) noexcept;
#include "api/entry_points.def"

}  // namespace cuvmm::emulator
