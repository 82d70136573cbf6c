// SPDX-License-Identifier: Apache-2.0
// The functions of entry_points.def without rules. Each has one overload, in the file of its area.
#pragma once

#include "api/calls.h"

namespace cuvmm::emulator {

#define CUVMM_BASE(Name, ...) CUresult run_base(const calls::Name&) noexcept;
#include "api/entry_points.def"

// No rule covers the ends of contexts, either: the shim follows them.
CUresult run_base(const calls::CtxDestroy&) noexcept;
CUresult run_base(const calls::DevicePrimaryCtxRelease&) noexcept;
CUresult run_base(const calls::DevicePrimaryCtxReset&) noexcept;

}  // namespace cuvmm::emulator
