// SPDX-License-Identifier: Apache-2.0
// The measurements. Each runs its variants in turn, round by round, so that disturbances of the
// machine hit all variants alike.
#pragma once

#include <vector>

#include "bench/measure/machine.h"
#include "bench/measure/results.h"

namespace cuvmm::bench {

using Variants = std::vector<Variant>;

/// Every VMM entry point by itself, and the cycle of seven calls, while `live` mappings exist:
/// "call/NAME/live:N/VARIANT" and "cycle/live:N/VARIANT", in ns. The last variant makes the
/// mappings, so that a shim knows them.
void measure_calls(const Variants& variants, std::size_t live, double seconds, Results& results);

/// Calls per second of `threads` threads on reservations of their own, or on slots of one:
/// "threads:N/disjoint/VARIANT" or "threads:N/shared/VARIANT".
void measure_threads(const Variants& variants, int threads, bool shared, double seconds,
                     Results& results);

/// Small copies and fills of memory that is not VMM's: "WHERE/NAME/VARIANT" in ns, and
/// "WHERE/threads:N/VARIANT" in calls/s. Called before the first reservation of the process, it
/// measures a program that never uses VMM.
void measure_copies(const Variants& variants, const std::string& where,
                    const std::vector<int>& threads, double seconds, Results& results);

/// Launches of a kernel without parameters and of one with 16 pointers, which point into `live`
/// mappings: "WHERE/NAME/VARIANT" in ns. With `live` 0 before the first reservation of the process,
/// it measures a program that never uses VMM. CUVMM_ASYNC decides how a shim follows launches.
void measure_launches(const Variants& variants, const std::string& where, std::size_t live,
                      double seconds, Results& results);

/// For counts of instructions: fills plain memory `times` times by cuMemsetD16Async, while the
/// program uses mapped memory. `between`: there is a reservation on both sides of the memory.
void fill_plain_memory(const Variant& variant, bool between, int times);

/// For counts of instructions: launches a kernel with 16 pointers `times` times. They point into
/// `live` mappings, or nowhere if there are none.
void launch_pointers(const Variant& variant, std::size_t live, int times);

/// Functions that no shim intercepts, called directly: "other/NAME/VARIANT" in ns.
void measure_other(const Variants& variants, double seconds, Results& results);

/// Resident memory that each of `live` mappings takes: "memory/live:N/VARIANT" in bytes.
void measure_memory(const Variant& variant, std::size_t live, Results& results);

}  // namespace cuvmm::bench
