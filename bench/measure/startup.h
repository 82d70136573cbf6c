// SPDX-License-Identifier: Apache-2.0
// What a shim costs a program that hardly runs.
#pragma once

#include <string>

#include "bench/measure/results.h"

namespace cuvmm::bench {

/// Wall time of this program started as `--exit-at-once` and as `--init PATH`, without and with
/// the shim preloaded: "startup/exit-at-once/VARIANT", "startup/cuInit/VARIANT", in us. `shim` may
/// be empty.
void measure_startup(const std::string& driver, const std::string& shim, int times,
                     Results& results);

}  // namespace cuvmm::bench
