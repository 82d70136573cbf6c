// SPDX-License-Identifier: Apache-2.0
// Python functions and lines as small numbers, with their names copied: a code object and its
// strings may be gone when a report is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "frames/python_line.h"
#include "shim/stack/python/walk.h"

namespace cuvmm::shim {

/// A place in a Python program. Strings are UTF-8 and live for ever. (No initialisers: a table of
/// these is all zero, and so costs no file space.)
struct PythonName {
  const char* function;
  const char* file;
  int line;
};

/// A place as a word of a stored stack. The highest bit of its 32: PythonPlace::entry.
using PythonWord = std::uintptr_t;
inline constexpr PythonWord kPythonEntry = PythonWord{1} << 31;
/// Words without that bit are below.
inline constexpr std::size_t kMostPythonNames = 1 << 15;

/// The word of a place of a walk that `memory` belongs to. 0 where it cannot be named, or where the
/// memory for names is used up. Takes a lock.
PythonWord name_python_place(const PythonInterpreter& python, GuardedMemory& memory,
                             const PythonPlace& place) noexcept;

/// Of a word that name_python_place() gave, with or without its highest bit. Of others: empty.
const PythonName& python_name(PythonWord word) noexcept;

/// Of the words of a stored stack.
std::vector<frames::PythonLine> python_lines(std::span<const PythonWord> words);

/// How many places did not fit.
std::size_t dropped_python_names() noexcept;

/// Around fork, as OwnedMutex::lock_for_fork().
bool lock_python_names() noexcept;
void unlock_python_names() noexcept;

}  // namespace cuvmm::shim
