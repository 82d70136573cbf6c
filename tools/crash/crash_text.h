// SPDX-License-Identifier: Apache-2.0
// What a file of last calls tells, for people.
#pragma once

#include <string>

#include "recorder/last_calls/reading.h"

namespace cuvmm::tools {

/// How the process ended, what it was in, what ended before, its last `calls` calls.
std::string crash_text(const last_calls::Reading& reading, std::size_t calls);

/// "exited", "was ended by signal 11 (SIGSEGV)": as far as the file knows.
std::string crash_ending(const last_calls::Reading& reading);

}  // namespace cuvmm::tools
