// SPDX-License-Identifier: Apache-2.0
// A program that makes very many calls, for what records them (bench/long_run.py).
#pragma once

#include <cstdint>

#include "bench/measure/machine.h"

namespace cuvmm::bench {

/// Makes at least `calls` calls, and says how many it made and what memory this process has.
void make_long_run(const Variant& variant, std::uint64_t calls);

}  // namespace cuvmm::bench
