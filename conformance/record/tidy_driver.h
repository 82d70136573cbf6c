// SPDX-License-Identifier: Apache-2.0
// A driver that remembers what its calls made, so that one process can run many cases.
#pragma once

#include "api/driver/driver.h"

namespace cuvmm::conformance {

/// A table that forwards to `driver` and records what succeeds: reservations, allocations,
/// mappings, plain and registered memory and what IPC opened. One per process: the functions of the
/// table find it by a global.
Driver tidy_driver(const Driver& driver);

/// Makes device 0's primary context and the default pools current again and ends everything that
/// calls through the table made and did not end, in the order in which a driver lets go. False when
/// a call broke the context: nothing can be run in this process any more.
bool tidy_up();

}  // namespace cuvmm::conformance
