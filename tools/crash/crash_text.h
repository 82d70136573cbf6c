// SPDX-License-Identifier: Apache-2.0
// Turns a file of last calls into text for people.
#pragma once

#include <string>

#include "recorder/last_calls/reading.h"

namespace cuvmm::tools {

/// Tells how the process ended, the calls that had not returned, the objects that ended before, and
/// the last `calls` calls.
std::string crash_text(const last_calls::Reading& reading, std::size_t calls);

/// "exited", "was ended by signal 11 (SIGSEGV)", as far as the file knows.
std::string crash_ending(const last_calls::Reading& reading);

}  // namespace cuvmm::tools
