// SPDX-License-Identifier: Apache-2.0
// Makes one call of a driver fail, to test whether the shim still knows which objects exist.
#pragma once

#include "api/driver/driver.h"

namespace cuvmm::fuzz {

/// The driver with a counter before each call that programs make. One per process, because the
/// counter is static.
Driver failing(const Driver& driver);

/// Lets the k-th call from now on return OUT_OF_MEMORY without reaching the driver (k > 0); 0 lets
/// none fail.
void fail_call(unsigned k);
/// Whether that call has been made.
bool call_failed();
/// Calls that passed the counter since fail_call(), including a shim's own calls.
unsigned calls_made();

}  // namespace cuvmm::fuzz
