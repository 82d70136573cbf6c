// SPDX-License-Identifier: Apache-2.0
// Leaks among what was made since a moment, while the program goes on.
#pragma once

#include <optional>

#include "shim/process/process.h"

namespace cuvmm::shim {

/// What the program has given up and still pins, of what it made since then and was not told
/// before. `alive`: also what it still uses; `kept`: also what was made in scopes that keep.
/// Nothing where the model cannot be asked now.
std::optional<Violations> leaks_since(Process& process, const Labels::Moment& since, bool alive,
                                      bool kept);

/// Makes them findings. How many occurrences of kind leak came by that.
std::uint64_t tell_leaks_since(Process& process, const Violations& leaks);

}  // namespace cuvmm::shim
