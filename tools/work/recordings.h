// SPDX-License-Identifier: Apache-2.0
// Records a driver's answers to random programs, and compares them with the emulator's.
#pragma once

#include <string>
#include <vector>

#include "tools/work/target.h"

namespace cuvmm::tools {

/// A unit is a recording of some thousand calls. Its result names each kind of difference that has
/// no known reason. Returns "", or the reason why the work stopped.
std::string run_recordings(const WorkTarget& target, const std::vector<std::string>& units,
                           const Done& done);

}  // namespace cuvmm::tools
