// SPDX-License-Identifier: Apache-2.0
// Random numbers that a seed determines for ever.
#pragma once

#include <cstdint>

namespace cuvmm::fuzz {

/// Small, fast and equal on every machine (xorshift64*), so that a seed always means one program.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) {
    if (state_ == 0) state_ = 1;
  }
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  /// 0..n-1; 0 for n = 0.
  std::uint32_t below(std::uint32_t n) {
    return n ? static_cast<std::uint32_t>((next() >> 33) % n) : 0;
  }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

}  // namespace cuvmm::fuzz
