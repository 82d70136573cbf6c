// SPDX-License-Identifier: Apache-2.0
// Makes programs about work in flight, as text: memory, work on streams, synchronisations, and
// calls that take memory away. Most calls are legal; chance decides whether the program waits for
// its work.
#pragma once

#include <string>

#include "fuzz/generate/random.h"

namespace cuvmm::fuzz::flight {

/// With `processes` 2, some programs open memory of a second process.
std::string make_program(Random& random, int processes);

/// The program text without one line, and without all lines that name the line's result.
std::string without_line(const std::string& text, std::size_t line);

}  // namespace cuvmm::fuzz::flight
