// SPDX-License-Identifier: Apache-2.0
// A driver that remembers the objects that its calls made, so that one process can run many cases.
#pragma once

#include "api/driver/driver.h"

namespace cuvmm::conformance {

/// A table that forwards to `driver` and records what successful calls make: reservations,
/// allocations, mappings, plain and registered memory, and memory opened by IPC. One per process,
/// because the functions of the table find their record in a global variable.
Driver tidy_driver(const Driver& driver);

/// Makes device 0's primary context and the default pools current again. Ends every object that a
/// call through the table made and no call ended, in an order that a driver accepts. False if a
/// call broke the context: then nothing more can run in this process.
bool tidy_up();

}  // namespace cuvmm::conformance
