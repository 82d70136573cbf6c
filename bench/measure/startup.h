// SPDX-License-Identifier: Apache-2.0
// Measures the time that a shim adds to the start of a program.
#pragma once

#include <string>

#include "bench/measure/results.h"

namespace cuvmm::bench {

/// Measures the wall time of this program as `--exit-at-once` and as `--init PATH`, without and
/// with the shim preloaded: "startup/exit-at-once/VARIANT" and "startup/cuInit/VARIANT", in us.
/// `shim` may be empty.
void measure_startup(const std::string& driver, const std::string& shim, int times,
                     Results& results);

}  // namespace cuvmm::bench
