// SPDX-License-Identifier: Apache-2.0
// Makes programs about work in flight, as text: memory, work on streams, what orders it, and calls
// that take memory away. Mostly legal; whether they wait for what they should is left to chance.
#pragma once

#include <string>

#include "fuzz/generate/random.h"

namespace cuvmm::fuzz::flight {

/// `processes` 2: some programs open memory of a second process.
std::string make_program(Random& random, int processes);

/// The lines of a program text without one of them, and without all that names what it made.
std::string without_line(const std::string& text, std::size_t line);

}  // namespace cuvmm::fuzz::flight
