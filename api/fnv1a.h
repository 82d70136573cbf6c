// SPDX-License-Identifier: Apache-2.0
// FNV-1a with 64 bits. The result is equal on every machine, so it may name files, findings and
// processes' objects. No protection against malice.
#pragma once

#include <cstdint>
#include <string_view>

namespace cuvmm {

class Fnv1a {
 public:
  /// One step: a byte, as in the published function, or a whole word where only this program sees
  /// the result.
  constexpr void add(std::uint64_t word) { value_ = (value_ ^ word) * 0x100000001b3; }
  constexpr void add(std::string_view text) {
    for (const char c : text) add(std::uint64_t{static_cast<unsigned char>(c)});
  }
  constexpr std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

constexpr std::uint64_t fnv1a(std::string_view text) {
  Fnv1a hash;
  hash.add(text);
  return hash.value();
}

}  // namespace cuvmm
