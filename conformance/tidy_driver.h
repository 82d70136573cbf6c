// A driver that remembers what its calls made, so that one process can run many cases.
#pragma once

#include "api/driver.h"

namespace cuvmm {

/// A table that forwards to `driver` and records what succeeds: reservations, allocations, mappings
/// and plain allocations. One per process: the functions of the table find it by a global.
Driver tidy_driver(const Driver& driver);

/// Ends everything that calls through the table made and did not end, in the order in which a
/// driver lets go of it, and makes device 0's primary context current again.
void tidy_up();

}  // namespace cuvmm
