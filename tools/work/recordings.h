// SPDX-License-Identifier: Apache-2.0
// What this driver answers to programs of a seed, and whether the emulator foresaw it.
#pragma once

#include <string>
#include <vector>

#include "tools/work/target.h"

namespace cuvmm::tools {

/// A unit is a recording of some thousand calls. Its result names each kind of difference that has
/// no known reason. Returns "" or why no more could be done.
std::string run_recordings(const WorkTarget& target, const std::vector<std::string>& units,
                           const Done& done);

}  // namespace cuvmm::tools
