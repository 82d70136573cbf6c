// SPDX-License-Identifier: Apache-2.0
// Functions that the driver has for kernels: vprintf and __assertfail.
#pragma once

#include "kernels/run/code.h"

namespace cuvmm::kernels {

/// v[0], v[1]: where in local memory the addresses of the format and of its arguments are;
/// `immediate`: where the result goes, if `option` says that there is one.
void run_print(Warp& warp, const Instruction& i, Mask m);
/// v[0] to v[3]: where in local memory message, file, line and function are.
void run_assert_failed(Warp& warp, const Instruction& i, Mask m);

}  // namespace cuvmm::kernels
