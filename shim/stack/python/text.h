// SPDX-License-Identifier: Apache-2.0
// Strings of CPython, read from memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/stack/python/guarded_memory.h"

namespace cuvmm::shim {

/// A string's characters where they lie.
struct PythonText {
  std::uintptr_t data = 0;
  std::size_t length = 0;  ///< characters
  std::uint8_t width = 0;  ///< bytes of each: 1, 2 or 4

  /// The str at `object`, whose header has `ascii_size` bytes where all is ASCII. False where it
  /// cannot be read or is not of `type`, or not of the form that names and paths have.
  bool find(GuardedMemory& memory, std::uintptr_t object, std::uintptr_t type,
            std::uint16_t ascii_size) noexcept;
  /// Writes UTF-8 and a zero to `out`, at most `room` bytes: of a longer string the end, behind
  /// "...". Control characters and halves of characters become '?'. False where it cannot be read.
  bool copy(GuardedMemory& memory, char* out, std::size_t room) const noexcept;

  /// A number for the last characters of the str at `object`, equal where they are. False as for
  /// find(), and where they cannot be read.
  static bool fingerprint(GuardedMemory& memory, std::uintptr_t object, std::uintptr_t type,
                          std::uint16_t ascii_size, std::uint64_t& number) noexcept;

 private:
  bool character(GuardedMemory& memory, std::size_t i, std::uint32_t& value) const noexcept;
};

}  // namespace cuvmm::shim
