// SPDX-License-Identifier: Apache-2.0
#include "emulator/hostile/hostile_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "emulator/machine/address_space.h"
#include "emulator/objects/memory/physical_memory.h"

namespace cuvmm::emulator {
namespace {

// The tests of this file change the hostile driver of the process, and restore it.
class HostileDriverTest : public ::testing::Test {
 protected:
  void TearDown() override { hostile_driver() = HostileDriver{}; }
  static void wish(const char* text) { hostile_driver() = parse_hostile_driver(text).value(); }
};

TEST_F(HostileDriverTest, ReadsASeedAndWords) {
  EXPECT_EQ(parse_hostile_driver("7")->seed, 7u);
  EXPECT_FALSE(parse_hostile_driver("7")->poison);
  const auto some = parse_hostile_driver("7:poison,no-hints");
  ASSERT_TRUE(some);
  EXPECT_TRUE(some->poison);
  EXPECT_TRUE(some->ignores_hints);
  EXPECT_FALSE(some->new_handles);
  for (const char* wrong : {"", "x", "7:", "7:poisson", "poison", "7,poison", "-1"}) {
    if (std::string(wrong) == "7:") continue;  // an empty list of words is valid
    EXPECT_FALSE(parse_hostile_driver(wrong)) << wrong;
  }
}

TEST_F(HostileDriverTest, OneSeedDrawsOneRow) {
  HostileDriver a = *parse_hostile_driver("7"), b = *parse_hostile_driver("7"),
                c = *parse_hostile_driver("8");
  for (int i = 0; i < 8; ++i) {
    const auto drawn = a.draw();
    EXPECT_EQ(drawn, b.draw());
    EXPECT_NE(drawn, c.draw());
  }
}

std::vector<std::uint64_t> taken(AddressSpace& space) {
  std::vector<std::uint64_t> bases;
  for (int i = 0; i < 16; ++i) {
    const auto base = space.take(kGranule, 0, 0);
    EXPECT_TRUE(base);
    bases.push_back(base.value_or(0));
    space.give_back(bases.back(), kGranule);
  }
  return bases;
}

TEST_F(HostileDriverTest, AddressesComeBackByDefaultAndNeverWhereTheyMustNot) {
  AddressSpace usual, other;
  ASSERT_TRUE(usual.open() && other.open());
  auto bases = taken(usual);
  EXPECT_EQ(std::ranges::count(bases, bases.front()), 16);
  wish("3:new-addresses");
  bases = taken(other);
  std::ranges::sort(bases);
  EXPECT_EQ(std::ranges::adjacent_find(bases), bases.end());
}

TEST_F(HostileDriverTest, ScatteredRangesAreNoNeighbours) {
  AddressSpace space;
  ASSERT_TRUE(space.open());
  wish("3:scattered-addresses");
  std::vector<std::uint64_t> bases;
  for (int i = 0; i < 16; ++i) bases.push_back(space.take(kGranule, 4 * kGranule, 0).value_or(0));
  std::ranges::sort(bases);
  for (std::size_t i = 0; i < bases.size(); ++i) {
    EXPECT_TRUE(space.owns(bases[i], kGranule));
    EXPECT_EQ(bases[i] % (4 * kGranule), 0u);
    if (i != 0) {
      EXPECT_GT(bases[i] - bases[i - 1], kGranule);
    }
  }
}

TEST_F(HostileDriverTest, HintsAreIgnored) {
  AddressSpace space;
  ASSERT_TRUE(space.open());
  const auto first = space.take(kGranule, 0, 0);
  ASSERT_TRUE(first);
  const std::uint64_t hint = *first + 64 * kGranule;
  EXPECT_EQ(space.take(kGranule, 0, hint), hint);
  space.give_back(hint, kGranule);
  wish("3:no-hints");
  EXPECT_NE(space.take(kGranule, 0, hint), hint);
}

TEST_F(HostileDriverTest, HandlesComeBackByDefaultAndNeverWhereTheyMustNot) {
  PhysicalMemory memory;
  const CUmemAllocationProp prop{};
  const Handle first = memory.add(kGranule, prop, false, 0, nullptr);
  memory.drop(first);
  EXPECT_EQ(memory.add(kGranule, prop, false, 0, nullptr), first);
  memory.drop(first);
  wish("3:new-handles");
  EXPECT_NE(memory.add(kGranule, prop, false, 0, nullptr), first);
}

TEST_F(HostileDriverTest, WhatIsImportedLiesElsewhere) {
  const auto step = [](const char* text, bool import) {
    AddressSpace space;
    EXPECT_TRUE(space.open());
    wish(text);
    const std::uint64_t first = space.take(kGranule, 0, 0).value_or(0);
    if (import) hostile_driver().imported();
    const std::uint64_t next = space.take(kGranule, 0, 0).value_or(0);
    EXPECT_NE(next, 0u);
    return next - first;  // relative, because the system chooses where each space begins
  };
  const std::uint64_t usual = step("7", false);
  EXPECT_EQ(step("7", true), usual);
  EXPECT_EQ(step("7:import-addresses", false), usual);
  const std::uint64_t away = step("7:import-addresses", true);
  EXPECT_GT(away, usual);
  EXPECT_EQ(away, step("7:import-addresses", true));
  EXPECT_NE(away, step("8:import-addresses", true));
}

TEST_F(HostileDriverTest, AfterAnImportTheWholeSpaceCanStillBeUsed) {
  AddressSpace space;
  ASSERT_TRUE(space.open());
  wish("7:import-addresses");
  for (int i = 0; i < 64; ++i) {
    hostile_driver().imported();
    ASSERT_TRUE(space.take(kGranule, 0, 0)) << i;
  }
}

TEST_F(HostileDriverTest, RefusalsComeSeldomAndNeverTwiceInARow) {
  HostileDriver none = *parse_hostile_driver("7"), some = *parse_hostile_driver("7:refusals"),
                same = some;
  int refused = 0;
  bool before = false;
  for (int i = 0; i < 800; ++i) {
    EXPECT_FALSE(none.refuse());
    const bool now = some.refuse();
    EXPECT_EQ(now, same.refuse());
    EXPECT_FALSE(now && before);
    refused += now;
    before = now;
  }
  EXPECT_GT(refused, 40);
  EXPECT_LT(refused, 160);
}

TEST_F(HostileDriverTest, ContextsAreLeftSeldom) {
  HostileDriver none = *parse_hostile_driver("7"), some = *parse_hostile_driver("7:left-contexts"),
                same = some;
  EXPECT_FALSE(none.awaits_calls());
  EXPECT_TRUE(some.awaits_calls());
  int left = 0;
  for (int i = 0; i < 800; ++i) {
    EXPECT_FALSE(none.leaves_context());
    const bool now = some.leaves_context();
    EXPECT_EQ(now, same.leaves_context());
    left += now;
  }
  EXPECT_GT(left, 40);
  EXPECT_LT(left, 160);
}

TEST_F(HostileDriverTest, DevicesMayBeUnlikeEachOther) {
  constexpr std::uint64_t kUsual = std::uint64_t{80} << 30;
  const HostileDriver none = *parse_hostile_driver("7"),
                      some = *parse_hostile_driver("7:unlike-devices");
  std::vector<std::uint64_t> memory;
  int peers = 0;
  for (int device = 0; device < 16; ++device) {
    EXPECT_EQ(none.memory_of(device, kUsual), kUsual);
    memory.push_back(some.memory_of(device, kUsual));
    EXPECT_GE(memory.back(), kUsual / 4);
    EXPECT_LE(memory.back(), kUsual);
    EXPECT_EQ(memory.back() % kGranule, 0u);
    EXPECT_TRUE(some.peers(device, device));
    for (int peer = 0; peer < 16; ++peer) {
      EXPECT_TRUE(none.peers(device, peer));
      EXPECT_EQ(some.peers(device, peer), some.peers(peer, device));
      peers += some.peers(device, peer);
    }
  }
  EXPECT_NE(std::ranges::adjacent_find(memory, std::not_equal_to<>()), memory.end());
  EXPECT_GT(peers, 16);
  EXPECT_LT(peers, 16 * 16);
}

TEST_F(HostileDriverTest, PoisonHasNoZeroes) {
  char bytes[4096] = {};
  fill_with_poison(bytes, sizeof bytes, 3);
  EXPECT_EQ(std::ranges::count(bytes, 0), 0);
}

}  // namespace
}  // namespace cuvmm::emulator
