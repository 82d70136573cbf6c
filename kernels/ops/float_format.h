// SPDX-License-Identifier: Apache-2.0
// Formats of floating point in registers, and the modifiers of operations on them.
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>

#include "kernels/instruction/modifiers.h"
#include "kernels/number/small_float.h"

namespace cuvmm::kernels {

/// Instruction::flags of floating point; the lowest two bits are a Rounding.
enum FloatFlag : std::uint8_t {
  kRoundingBits = 3,
  kFlush = 4,
  kSaturate = 8,
  kKeepNan = 16,
  kRelu = 32,
  kXorSign = 64,  ///< .xorsign.abs
  kApprox = 128,
};

/// Takes the modifiers for rounding, ftz, sat, NaN, relu, xorsign.abs and accuracy. `.full` is
/// ignored, because every result is as exact as it can be.
inline std::uint8_t take_float_flags(Modifiers& modifiers) {
  constexpr std::string_view kRoundings[] = {"rn", "rz", "rm", "rp"};
  auto flags = static_cast<std::uint8_t>(modifiers.take_one(kRoundings, 0));
  if (modifiers.take("ftz")) flags |= kFlush;
  if (modifiers.take("sat")) flags |= kSaturate;
  if (modifiers.take("NaN")) flags |= kKeepNan;
  if (modifiers.take("relu")) flags |= kRelu;
  if (modifiers.take("xorsign") && modifiers.take("abs")) flags |= kXorSign;
  if (modifiers.take("approx")) flags |= kApprox;
  modifiers.take("full");
  return flags;
}

inline Rounding rounding_of(std::uint8_t flags) { return static_cast<Rounding>(flags & 3); }

/// Sets the host's rounding while the object lives.
class RoundedBy {
 public:
  explicit RoundedBy(Rounding rounding) {
    constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    if (rounding != Rounding::kNearest) std::fesetround(kModes[static_cast<int>(rounding)]);
  }
  ~RoundedBy() { std::fesetround(FE_TONEAREST); }
  RoundedBy(const RoundedBy&) = delete;
  RoundedBy& operator=(const RoundedBy&) = delete;
};

struct F32 {
  using Value = float;
  static constexpr unsigned kParts = 1;
  static constexpr bool kSmall = false;
  static constexpr Value kLeastNormal = 0x1p-126f;
  static Value load(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  }
  static std::uint64_t store(Value v) {
    return v != v ? 0x7fffffffU : std::bit_cast<std::uint32_t>(v);
  }
};

struct F64 {
  using Value = double;
  static constexpr unsigned kParts = 1;
  static constexpr bool kSmall = false;
  static constexpr Value kLeastNormal = 0;
  static Value load(std::uint64_t bits) { return std::bit_cast<double>(bits); }
  static std::uint64_t store(Value v) { return std::bit_cast<std::uint64_t>(v); }
};

/// Computes as double; what a double cannot hold goes to its lowest bit (sticky_sum), so that the
/// value is rounded once.
// NOLINTBEGIN(readability-redundant-parentheses): the check sees them in what is put in for kFormat
template <const int (&kFormat)[2], unsigned kCount>
struct Small {
  using Value = double;
  static constexpr unsigned kParts = kCount;
  static constexpr bool kSmall = true;
  static constexpr Value kLeastNormal = kFormat[0] == 5 ? 0x1p-14 : 0x1p-126;
  static Value load(std::uint64_t bits) {
    return widen(static_cast<std::uint16_t>(bits), kFormat[0], kFormat[1]);
  }
  static std::uint64_t store(Value v) {
    return narrow(v, kFormat[0], kFormat[1], Rounding::kNearest);
  }
};
// NOLINTEND(readability-redundant-parentheses)

template <class T>
T flushed(T value, T least_normal) {
  return std::fabs(value) < least_normal ? std::copysign(T{0}, value) : value;
}

/// `.sat`: NaN and -0 become 0, as an H100 answers.
template <class T>
T saturated(T value) {
  return !(value > 0) ? T{0} : value < 1 ? value : T{1};
}

/// `.relu`: negative numbers and -0 become 0; NaN stays.
template <class T>
T rectified(T value) {
  return value > 0 || std::isnan(value) ? value : T{0};
}

}  // namespace cuvmm::kernels
