// SPDX-License-Identifier: Apache-2.0
// What a file of last calls tells, for programs.
#pragma once

#include "recorder/last_calls/reading.h"
#include "tools/base/json.h"

namespace cuvmm::tools {

/// As docs/crashes.md describes it; the last `calls` calls.
Json crash_json(const last_calls::Reading& reading, std::size_t calls);

}  // namespace cuvmm::tools
