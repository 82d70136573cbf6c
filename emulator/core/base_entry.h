// SPDX-License-Identifier: Apache-2.0
// The functions of entry_points.def without rules. Each has one overload, in the source file of its
// area.
#pragma once

#include "api/calls.h"

namespace cuvmm::emulator {

#define CUVMM_BASE(Name, ...) CUresult run_base(const calls::Name&) noexcept;
#include "api/entry_points.def"

// The entry points of area `order` have no rules either.
#define CUVMM_DECLARE(Name) CUresult run_base(const calls::Name&) noexcept;
#define CUVMM_LEAVE_OUT(Name)
#define CUVMM_ONE_OF_order , CUVMM_DECLARE
#define CUVMM_SECOND(first, second, ...) second
#define CUVMM_CHOOSE(...) CUVMM_SECOND(__VA_ARGS__, CUVMM_LEAVE_OUT, )
#define CUVMM_ENTRY(Name, area, ...) CUVMM_CHOOSE(CUVMM_ONE_OF_##area)(Name)
#include "api/entry_points.def"
#undef CUVMM_DECLARE
#undef CUVMM_LEAVE_OUT
#undef CUVMM_ONE_OF_order
#undef CUVMM_SECOND
#undef CUVMM_CHOOSE

// No rule covers the calls that end contexts, either, because the shim follows contexts itself.
CUresult run_base(const calls::CtxDestroy&) noexcept;
CUresult run_base(const calls::DevicePrimaryCtxRelease&) noexcept;
CUresult run_base(const calls::DevicePrimaryCtxReset&) noexcept;
CUresult run_base(const calls::CtxDetach&) noexcept;
CUresult run_base(const calls::GreenCtxDestroy&) noexcept;

}  // namespace cuvmm::emulator
