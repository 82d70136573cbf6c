// SPDX-License-Identifier: Apache-2.0
// Leaks among the objects that were made since a moment, while the program goes on.
#pragma once

#include <optional>

#include "shim/process/process.h"

namespace cuvmm::shim {

/// The objects that the program has given up and still pins, that were made after the moment, and
/// that were not reported before. `alive`: also objects that the program still uses; `with_kept`:
/// also objects that were made in scopes with `keeps`. nullopt if the model's lock is not free.
std::optional<Violations> leaks_since(Process& process, const Labels::Moment& since, bool alive,
                                      bool with_kept);

/// Makes findings of the leaks. Returns the number of occurrences of kind leak that this added.
std::uint64_t tell_leaks_since(Process& process, const Violations& leaks);

}  // namespace cuvmm::shim
