// SPDX-License-Identifier: Apache-2.0
// Numbers of 16 bits are rounded once. Exact results come from integers of 128 bits.
#include "kernels/number/small_float.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace cuvmm::kernels {
namespace {

// In units of 2^-24, the smallest f16.
__int128 units(unsigned bits) {
  const int field = static_cast<int>(bits >> 10 & 0x1f), fraction = static_cast<int>(bits & 0x3ff);
  const __int128 magnitude =
      field == 0 ? fraction : static_cast<__int128>(fraction + 0x400) << (field - 1);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// The nearest f16 to a number in units of 2^-48, ties to even; for 0, the one without a sign.
unsigned nearest(__int128 value) {
  const unsigned sign = value < 0 ? 0x8000 : 0;
  const __int128 magnitude = value < 0 ? -value : value;
  unsigned low = 0, high = 0x7c00;  // a search in the order of the numbers; 0x7c00 is infinity
  const auto twice = [](unsigned bits) {  // twice the number, so that halves are whole
    return (bits == 0x7c00 ? static_cast<__int128>(1) << 40 : units(bits)) << 25;
  };
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    (twice(middle) <= 2 * magnitude ? low : high) = middle;
  }
  const __int128 to_low = 2 * magnitude - twice(low), to_high = twice(high) - 2 * magnitude;
  const bool up = to_high < to_low || (to_high == to_low && (low & 1));
  return sign | (up ? high : low);
}

double value(unsigned bits) { return widen(static_cast<std::uint16_t>(bits), 5, 10); }

unsigned rounded(double sum) { return narrow(sum, 5, 10, Rounding::kNearest); }

TEST(SmallFloat, AFusedMultiplicationAndAdditionRoundsOnce) {
  std::vector<unsigned> edges;
  for (unsigned exponent = 0; exponent < 31; exponent += 3) {
    for (const unsigned fraction : {0U, 1U, 0x1ffU, 0x200U, 0x3ffU}) {
      edges.push_back(exponent << 10 | fraction);
      edges.push_back(0x8000 | exponent << 10 | fraction);
    }
  }
  unsigned wrong = 0;
  for (const unsigned a : edges) {
    for (const unsigned b : edges) {
      for (const unsigned c : edges) {
        const __int128 exact = units(a) * units(b) + (units(c) << 24);
        if (exact == 0) continue;
        const unsigned expected = nearest(exact);
        const unsigned got = rounded(sticky_sum(value(a) * value(b), value(c)));
        if (got != expected && ++wrong < 4) {
          ADD_FAILURE() << std::hex << a << " * " << b << " + " << c << ": " << got << ", not "
                        << expected;
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(SmallFloat, TheSumRemembersWhatADoubleCannotHold) {
  // The sum is just above, or just below, the middle between two bf16.
  const double middle = 1 + 0x1p-8, least = 0x1p-133;
  EXPECT_EQ(narrow(middle, 8, 7, Rounding::kNearest), 0x3f80);
  EXPECT_EQ(narrow(sticky_sum(middle, least), 8, 7, Rounding::kNearest), 0x3f81);
  EXPECT_EQ(narrow(sticky_sum(-middle, -least), 8, 7, Rounding::kNearest), 0xbf81);
  const double odd = 1 + 3 * 0x1p-8;
  EXPECT_EQ(narrow(odd, 8, 7, Rounding::kNearest), 0x3f82);
  EXPECT_EQ(narrow(sticky_sum(odd, -least), 8, 7, Rounding::kNearest), 0x3f81);
  EXPECT_EQ(sticky_sum(1, 2), 3);
  EXPECT_EQ(sticky_sum(HUGE_VAL, -1), HUGE_VAL);
  EXPECT_TRUE(std::isnan(sticky_sum(HUGE_VAL, -HUGE_VAL)));
}

}  // namespace
}  // namespace cuvmm::kernels
