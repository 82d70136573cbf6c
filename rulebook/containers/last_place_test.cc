// SPDX-License-Identifier: Apache-2.0
#include "rulebook/containers/last_place.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace cuvmm {
namespace {

struct Range {
  std::uint64_t base, size;
};
using Ranges = std::map<std::uint64_t, Range>;

Ranges::const_iterator plainly(const Ranges& ranges, std::uint64_t address) {
  auto it = ranges.begin();
  while (it != ranges.end() && it->second.base + it->second.size <= address) ++it;
  return it;
}

// The answer equals a plain search, whatever was searched, added and erased before.
TEST(LastPlace, AnswersAsAPlainSearch) {
  std::mt19937 random(1);
  Ranges ranges;
  LastPlace<Ranges> last;
  int changed = 0;
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t address = random() % 200;
    const auto found = last.first_after(ranges, address);
    ASSERT_EQ(found, plainly(ranges, address)) << address;
    const bool inside = found != ranges.end() && found->second.base <= address;
    if (random() % 3 != 0) continue;
    if (inside) {
      last.rest_at(ranges.erase(found));
    } else if (found == ranges.end() || found->second.base >= address + 5) {
      const auto made = ranges.emplace(address, Range{address, 1 + random() % 5}).first;
      if (random() % 2 == 0) last.rest_at(made);
    }
    ++changed;
  }
  EXPECT_GT(changed, 1000);
  const auto copy = last;
  ranges.clear();
  LastPlace<Ranges> other = copy;
  EXPECT_EQ(other.first_after(ranges, 7), ranges.end());
}

}  // namespace
}  // namespace cuvmm
