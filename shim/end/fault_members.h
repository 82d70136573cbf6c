// SPDX-License-Identifier: Apache-2.0
// A fault of a device as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recorder/last_calls/reading.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

/// Makes the object of the report's member "fault" (docs/report.md). `stack` is of the call that
/// returned the error; `file` names the file of the last calls, "" for none.
std::string fault_members(const last_calls::Reading& reading, const std::vector<Frame>& stack,
                          std::vector<Frame> (*frames)(const std::vector<std::uint64_t>&),
                          const std::string& file);

}  // namespace cuvmm::shim
