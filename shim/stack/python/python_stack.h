// SPDX-License-Identifier: Apache-2.0
// The Python part of a stack, where there is an interpreter in the process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "shim/stack/python/names.h"
#include "shim/stack/python/walk.h"

namespace cuvmm::shim {

/// Looks for CPython among the libraries that are loaded. Without one, or with one whose memory is
/// not known, stacks are as they were. Takes the loader's locks, so the caller must hold none of
/// ours. Again looks again, until there is one.
void find_python() noexcept;

/// From here on no stack has a Python part.
void do_without_python() noexcept;

/// Not from here: read it by python_here().
extern std::atomic<const PythonInterpreter*> g_python;
/// The interpreter, or null.
inline const PythonInterpreter* python_here() noexcept {
  return g_python.load(std::memory_order_acquire);
}

/// What a walk of the calling thread found, ready to be named.
struct PythonStack {
  PythonStack(GuardedMemory& guarded, KnownCodes* known) : memory(guarded), codes(known) {}

  GuardedMemory& memory;
  KnownCodes* codes;  ///< of this memory, or null
  PythonWalk walk;
  std::uint64_t key = 0;  ///< of all its places

  /// False: the thread is in no Python function, or it cannot be told.
  bool take(const PythonInterpreter& python) noexcept;
  /// The places as words of a stored stack, those left out that cannot be named.
  std::span<const PythonWord> words(const PythonInterpreter& python,
                                    std::array<PythonWord, kMaxPythonFrames>& room) noexcept;
};

/// What is wrong with the Python parts of stacks: a sentence for the report, or "".
std::string python_trouble();

}  // namespace cuvmm::shim
