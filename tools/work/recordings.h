// SPDX-License-Identifier: Apache-2.0
// What this driver answers to programs of a seed, and whether the emulator foresaw it.
#pragma once

#include "tools/work/runner.h"

namespace cuvmm::tools {

/// A unit is a recording of some thousand calls. Its result names each kind of difference that has
/// no known reason.
std::string run_recordings(const WorkTarget& target, const std::vector<std::string>& units,
                           const Done& done);

}  // namespace cuvmm::tools
