// SPDX-License-Identifier: Apache-2.0
#include "tools/run/hostile_words.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <utility>

#include "tools/command_line/usage.h"

namespace cuvmm::tools {
namespace {

TEST(HostileWords, OneSeedHasOneSetOfKinds) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto kinds = kinds_of_seed(seed);
    EXPECT_EQ(kinds, kinds_of_seed(seed));
    EXPECT_FALSE(kinds.empty());
    seen.insert(kinds.begin(), kinds.end());
    const bool both = std::ranges::count(kinds, "new-addresses") != 0 &&
                      std::ranges::count(kinds, "scattered-addresses") != 0;
    EXPECT_FALSE(both) << seed;
  }
  // All kinds but the two that must be named.
  EXPECT_EQ(seen.size(), hostile_kinds().size() - 2);
  for (const std::string kind : {"refusals", "left-contexts"}) {
    EXPECT_EQ(seen.count(kind), 0u);
    EXPECT_EQ(read_hostile("7:" + kind).emulator, "7:" + kind);
  }
}

TEST(HostileWords, ReadsKinds) {
  const Hostile some = read_hostile("7:poison,late-streams,no-hints");
  EXPECT_EQ(some.emulator, "7:poison,no-hints");
  EXPECT_EQ(some.streams, "late:7");
  EXPECT_EQ(read_hostile("7:poison").streams, "");
}

TEST(HostileWords, ASeedTakesKindsBesideItsOwn) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    auto own = kinds_of_seed(seed);
    EXPECT_EQ(kinds_of_seed_with(seed, {}), own);
    // No kind appears twice, and no two that exclude each other do: the named kind stays.
    EXPECT_EQ(kinds_of_seed_with(seed, own), own);
    for (const auto& [asked, other] : {std::pair{"new-addresses", "scattered-addresses"},
                                       std::pair{"scattered-addresses", "new-addresses"}}) {
      const auto kinds = kinds_of_seed_with(seed, {asked});
      EXPECT_EQ(std::ranges::count(kinds, asked), 1) << seed;
      EXPECT_EQ(std::ranges::count(kinds, other), 0) << seed;
    }
    own.emplace_back("left-contexts");
    EXPECT_EQ(kinds_of_seed_with(seed, {"left-contexts"}), own);
  }
}

TEST(HostileWords, SaysWhatIsWrong) {
  for (const char* wrong : {"x", "", "7:poisonn", "-7"}) {
    EXPECT_THROW(read_hostile(wrong), UsageError) << wrong;
  }
  EXPECT_THROW(read_kinds("--with", "poison,left-context"), UsageError);
}

}  // namespace
}  // namespace cuvmm::tools
