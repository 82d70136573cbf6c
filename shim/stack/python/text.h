// SPDX-License-Identifier: Apache-2.0
// Strings of CPython, read from memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/stack/python/guarded_memory.h"

namespace cuvmm::shim {

/// The characters of a string, in place.
struct PythonText {
  std::uintptr_t data = 0;
  std::size_t length = 0;  ///< characters
  std::uint8_t width = 0;  ///< bytes of each: 1, 2 or 4

  /// Finds the str at `object`; the header of an ASCII string has `ascii_size` bytes. False if it
  /// cannot be read, is not of `type`, or does not have the form of names and paths.
  bool find(GuardedMemory& memory, std::uintptr_t object, std::uintptr_t type,
            std::uint16_t ascii_size) noexcept;
  /// Writes UTF-8 and a zero byte to `out`, at most `room` bytes: of a longer string "..." and its
  /// end. Control characters and surrogates become '?'. False if the characters cannot be read.
  bool copy(GuardedMemory& memory, char* out, std::size_t room) const noexcept;

  /// A number for the last characters of the str at `object`, equal for equal characters. False as
  /// for find(), and if the characters cannot be read.
  static bool fingerprint(GuardedMemory& memory, std::uintptr_t object, std::uintptr_t type,
                          std::uint16_t ascii_size, std::uint64_t& number) noexcept;

 private:
  bool character(GuardedMemory& memory, std::size_t i, std::uint32_t& value) const noexcept;
};

}  // namespace cuvmm::shim
