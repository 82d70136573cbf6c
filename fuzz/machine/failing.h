// SPDX-License-Identifier: Apache-2.0
// Makes one call of a driver fail, to see whether the shim still knows afterwards what exists.
#pragma once

#include "api/driver/driver.h"

namespace cuvmm::fuzz {

/// The same driver with the calls that programs are made of led past a counter. One per process:
/// the counter is static.
Driver failing(const Driver& driver);

/// The k-th such call from now on answers OUT_OF_MEMORY and reaches no driver (k > 0); 0 ends it.
void fail_call(unsigned k);
/// Whether that call has been made.
bool call_failed();
/// Calls led past the counter since fail_call(), those of a shim's own among them.
unsigned calls_made();

}  // namespace cuvmm::fuzz
