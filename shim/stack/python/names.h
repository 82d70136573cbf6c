// SPDX-License-Identifier: Apache-2.0
// Python functions and lines as small numbers, with their names copied, because a code object and
// its strings may be gone when a report is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "frames/python_line.h"
#include "shim/stack/python/walk.h"

namespace cuvmm::shim {

/// A place in a Python program. Strings are UTF-8 and live as long as the process. (No
/// initialisers, so that a table of these is all zero and costs no file space.)
struct PythonName {
  const char* function;
  const char* file;
  int line;
};

/// A place as a word of a stored stack. The highest bit of its 32: the place has
/// PythonPlace::entry.
using PythonWord = std::uintptr_t;
inline constexpr PythonWord kPythonEntry = PythonWord{1} << 31;
/// The words without that bit are below this number.
inline constexpr std::size_t kMostPythonNames = 1 << 15;

/// The word of a place in a walk that read `memory`; 0 if the place cannot be named, or if the
/// memory for names is used up. Takes a lock.
PythonWord name_python_place(const PythonInterpreter& python, GuardedMemory& memory,
                             const PythonPlace& place) noexcept;

/// The name for a word of name_python_place(), with or without its highest bit. Empty for other
/// words.
const PythonName& python_name(PythonWord word) noexcept;

/// The lines for the words of a stored stack.
std::vector<frames::PythonLine> python_lines(std::span<const PythonWord> words);

/// The number of places that did not fit.
std::size_t dropped_python_names() noexcept;

/// Called around fork, as OwnedMutex::lock_for_fork().
bool lock_python_names() noexcept;
void unlock_python_names() noexcept;

}  // namespace cuvmm::shim
