// SPDX-License-Identifier: Apache-2.0
// Turns a file of last calls into JSON.
#pragma once

#include "recorder/last_calls/reading.h"
#include "tools/base/json.h"

namespace cuvmm::tools {

/// The JSON that docs/crashes.md describes, with the last `calls` calls.
Json crash_json(const last_calls::Reading& reading, std::size_t calls);

}  // namespace cuvmm::tools
