// SPDX-License-Identifier: Apache-2.0
// The functions that the driver provides to kernels: vprintf, __assertfail, malloc and free.
#pragma once

#include "kernels/run/code.h"

namespace cuvmm::kernels {

/// v[0], v[1]: addresses in local memory that hold the addresses of the format and of its
/// arguments; `immediate`: the address for the result, if `option` says that the call has one.
void run_print(Warp& warp, const Instruction& i, Mask m);
/// v[0] to v[3]: addresses in local memory that hold message, file, line and function.
void run_assert_failed(Warp& warp, const Instruction& i, Mask m);

/// v[0]: the address in local memory that holds the size; `immediate`: the address for the result.
void run_malloc(Warp& warp, const Instruction& i, Mask m);
/// v[0]: the address in local memory that holds the pointer.
void run_free(Warp& warp, const Instruction& i, Mask m);

}  // namespace cuvmm::kernels
