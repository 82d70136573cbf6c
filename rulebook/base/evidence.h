// SPDX-License-Identifier: Apache-2.0
// How sure it is that a kernel uses memory, because of a word that it is given.
#pragma once

#include <cstdint>

namespace cuvmm {

/// docs/work-in-flight.md has a table of the verdicts that each grade allows.
enum class Evidence : std::uint8_t {
  /// Part of a struct, or a number by its type. Such a word may be padding that nobody wrote, two
  /// numbers of 32 bits, or what the stack held before.
  kWord,
  /// A whole parameter of 8 bytes whose type nobody tells.
  kByValue,
  /// The parameter is a pointer, or consists of pointers, by its type; or a copy, a fill or a
  /// tensor
  /// map names the range.
  kByType,
};

}  // namespace cuvmm
