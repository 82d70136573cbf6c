// SPDX-License-Identifier: Apache-2.0
// The Python part of a stack, if the process has an interpreter.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "shim/stack/python/names.h"
#include "shim/stack/python/walk.h"

namespace cuvmm::shim {

/// Looks for CPython among the loaded libraries. Without an interpreter, or with one whose layout
/// is not known, stacks have no Python part. Takes the loader's locks, so the caller must hold none
/// of cuvmm's. A further call looks again if no interpreter was found yet.
void find_python() noexcept;

/// From here on no stack has a Python part.
void do_without_python() noexcept;

/// Other files read it by python_here().
extern std::atomic<const PythonInterpreter*> g_python;
/// The interpreter, or null.
inline const PythonInterpreter* python_here() noexcept {
  return g_python.load(std::memory_order_acquire);
}

/// The result of a walk of the calling thread, ready to be named.
struct PythonStack {
  PythonStack(GuardedMemory& guarded, KnownCodes* known) : memory(guarded), codes(known) {}

  GuardedMemory& memory;
  KnownCodes* codes;  ///< of this memory, or null
  PythonWalk walk;
  std::uint64_t key = 0;  ///< of all its places

  /// Returns false if the thread is in no Python function, or if the walk was odd.
  bool take(const PythonInterpreter& python) noexcept;
  /// The places as words of a stored stack, without the places that cannot be named.
  std::span<const PythonWord> words(const PythonInterpreter& python,
                                    std::array<PythonWord, kMaxPythonFrames>& buffer) noexcept;
};

/// The reason why Python parts of stacks are missing: a sentence for the report, or "".
std::string python_trouble();

}  // namespace cuvmm::shim
