// SPDX-License-Identifier: Apache-2.0
// Makes very many calls, for measurements of the records of long runs (bench/long_run.py).
#pragma once

#include <cstdint>

#include "bench/measure/machine.h"

namespace cuvmm::bench {

/// Makes at least `calls` calls. Prints their number and the memory of this process.
void make_long_run(const Variant& variant, std::uint64_t calls);

}  // namespace cuvmm::bench
