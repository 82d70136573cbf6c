// SPDX-License-Identifier: Apache-2.0
// How certain it is that a kernel uses memory because a word that it receives holds the address.
#pragma once

#include <cstdint>

namespace cuvmm {

/// docs/work-in-flight.md has a table of the verdicts that each grade allows.
enum class Evidence : std::uint8_t {
  /// Part of a struct, or a number by its type. Such a word may be padding that nobody wrote, two
  /// numbers of 32 bits, or old bytes of the stack.
  kWord,
  /// A whole parameter of 8 bytes whose type is not known.
  kByValue,
  /// The parameter is a pointer, or consists of pointers, by its type; or a copy, a fill or a
  /// tensor map names the range.
  kByType,
};

}  // namespace cuvmm
