// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers of 16 bits, and rounding.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace cuvmm::kernels {

enum class Rounding : std::uint8_t { kNearest, kZero, kDown, kUp };

/// A number of one sign bit, `exponent` and `mantissa` bits, as a double.
inline double widen(std::uint16_t bits, int exponent, int mantissa) {
  const int field = bits >> mantissa & ((1 << exponent) - 1);
  const int fraction = bits & ((1 << mantissa) - 1);
  const int bias = (1 << (exponent - 1)) - 1;
  double value = 0;
  if (field == (1 << exponent) - 1) {
    value = fraction ? std::nan("") : HUGE_VAL;
  } else if (field == 0) {
    value = std::ldexp(fraction, 1 - bias - mantissa);
  } else {
    value = std::ldexp(fraction + (1 << mantissa), field - bias - mantissa);
  }
  return bits >> 15 ? -value : value;
}

/// The nearest number of this format, in the direction of `rounding`.
inline std::uint16_t narrow(double value, int exponent, int mantissa, Rounding rounding) {
  const unsigned infinity = ((1U << exponent) - 1) << mantissa;
  if (std::isnan(value)) return 0x7fff;
  const bool negative = std::signbit(value);
  const auto with_sign = [&](unsigned bits) {
    return static_cast<std::uint16_t>(bits | (negative ? 0x8000U : 0));
  };
  if (std::isinf(value)) return with_sign(infinity);
  if (value == 0) return with_sign(0);
  const int least = 2 - (1 << (exponent - 1));  // the smallest exponent of normal numbers
  int power = 0;
  std::frexp(value, &power);
  const int at = power - 1 < least ? least : power - 1;
  if (at > -least + 1) {
    const bool to_zero =
        rounding == Rounding::kZero || rounding == (negative ? Rounding::kUp : Rounding::kDown);
    return with_sign(to_zero ? infinity - 1 : infinity);
  }
  const double scaled = std::ldexp(std::fabs(value), mantissa - at);
  double whole = std::floor(scaled);
  const double rest = scaled - whole;
  const bool odd = std::fmod(whole, 2) != 0;
  const bool away = rounding == Rounding::kNearest ? rest > 0.5 || (rest == 0.5 && odd)
                    : rounding == Rounding::kDown  ? rest > 0 && negative
                    : rounding == Rounding::kUp    ? rest > 0 && !negative
                                                   : false;
  if (away) whole += 1;
  // A carry out of the mantissa increments the exponent, as it should.
  const unsigned bits =
      (static_cast<unsigned>(at - least) << mantissa) + static_cast<unsigned>(whole);
  return with_sign(bits < infinity ? bits : infinity);
}

/// a + b. Where a double cannot hold the sum, its lowest bit is 1 and its other bits are those of
/// the exact sum cut off: rounded to a format with less than 52 bits, it is as the exact sum.
inline double sticky_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  const double rest = (a - (sum - part)) + (b - part);
  if (rest == 0 || !std::isfinite(sum)) return sum;
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (bits & 1) return sum;
  return std::bit_cast<double>((rest > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

inline constexpr int kHalf[] = {5, 10}, kBrain[] = {8, 7};  ///< exponent, mantissa

}  // namespace cuvmm::kernels
