// SPDX-License-Identifier: Apache-2.0
// Loops over the lanes of a mask.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/run/code.h"

namespace cuvmm::kernels {

/// A lane's predicate.
inline bool is_set(Mask predicate, unsigned lane) { return predicate >> lane & 1; }

template <class Body>
inline void each_lane(Mask m, Body&& body) {
  if (m == kAll) [[likely]] {
    for (unsigned lane = 0; lane < kLanes; ++lane) body(lane);
    return;
  }
  for (; m != 0; m &= m - 1) body(static_cast<unsigned>(std::countr_zero(m)));
}

// Iterations of a loop that do not depend on each other.
#if defined(__clang__)
#define CUVMM_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define CUVMM_APART _Pragma("GCC ivdep")
#endif

/// One of two values, without a branch: `yes` where the mask has the lane.
inline std::uint64_t blend(Mask mask, unsigned lane, std::uint64_t yes, std::uint64_t no) {
  return no ^ ((yes ^ no) & (0 - static_cast<std::uint64_t>(mask >> lane & 1)));
}

/// Puts the value that `body` computes for each lane of the mask into `out`. `body` reads registers
/// of its own lane alone and has no effect, so that the compiler may carry several lanes out at a
/// time. It may be called for lanes outside of the mask; `out` keeps their values.
template <class Body>
inline void each_result(std::uint64_t* out, Mask m, Body&& body) {
  if (m == kAll) [[likely]] {
    CUVMM_APART
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = body(lane);
    return;
  }
  if (constexpr int kFew = 6; std::popcount(m) <= kFew) {
    for (; m != 0; m &= m - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(m));
      out[lane] = body(lane);
    }
    return;
  }
  alignas(64) std::uint64_t made[kLanes];
  CUVMM_APART
  for (unsigned lane = 0; lane < kLanes; ++lane) made[lane] = body(lane);
  CUVMM_APART
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = blend(m, lane, made[lane], out[lane]);
}

/// The lanes of the mask for which `body` is true. `body` has the conditions of each_result().
template <class Body>
inline Mask lanes_where(Mask m, Body&& body) {
  alignas(32) std::uint8_t yes[kLanes];
  CUVMM_APART
  for (unsigned lane = 0; lane < kLanes; ++lane) yes[lane] = body(lane) ? 1 : 0;
  Mask out = 0;
  for (unsigned first = 0; first < kLanes; first += 8) {
    // The product gathers the lowest bits of eight bytes in its highest byte.
    std::uint64_t eight = 0;
    std::memcpy(&eight, yes + first, sizeof eight);
    out |= static_cast<Mask>(eight * 0x0102040810204080U >> 56) << first;
  }
  return out & m;
}

}  // namespace cuvmm::kernels
