// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/address_space.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>

namespace cuvmm::emulator {
namespace {

constexpr std::uint64_t kG = kGranule;

/// Whether `body` is true in a child of this process, which has a copy of its address space.
template <class Body>
bool in_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

class AddressSpaceTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(space_.open()); }
  AddressSpace space_;
};

TEST_F(AddressSpaceTest, RangesAreAlignedAndDistinct) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 100; ++i) {
    const auto base = space_.take(kG, 0, 0);
    ASSERT_TRUE(base);
    EXPECT_EQ(*base % kG, 0u);
    EXPECT_TRUE(space_.owns(*base, kG));
    EXPECT_TRUE(seen.insert(*base).second);
  }
}

TEST_F(AddressSpaceTest, SmallRangesTakeAGranule) {
  const auto first = space_.take(3 * kG + 1, 0, 0);
  const auto second = space_.take(1, 0, *first + 3 * kG);
  EXPECT_NE(second, *first + 3 * kG) << "the last granule is taken whole";
  space_.give_back(*first, 3 * kG + 1);
  EXPECT_EQ(space_.take(4 * kG, 0, *first), first);
}

TEST_F(AddressSpaceTest, HonoursAlignment) {
  for (std::uint64_t alignment : {4 * kG, std::uint64_t{1} << 30, std::uint64_t{1} << 36}) {
    const auto base = space_.take(kG, alignment, 0);
    ASSERT_TRUE(base);
    EXPECT_EQ(*base % alignment, 0u);
  }
}

TEST_F(AddressSpaceTest, HonoursAHintThatIsFreeAndNoOther) {
  const auto base = space_.take(4 * kG, 0, 0);
  ASSERT_TRUE(base);
  EXPECT_NE(space_.take(kG, 0, *base + kG), *base + kG) << "taken";
  space_.give_back(*base, 4 * kG);
  EXPECT_EQ(space_.take(2 * kG, 0, *base + kG), *base + kG);
  EXPECT_NE(space_.take(kG, 0, 0x200000000), 0x200000000u) << "foreign";
}

TEST_F(AddressSpaceTest, FreedNeighboursBecomeOneRangeAgain) {
  const auto first = space_.take(2 * kG, 0, 0);
  const auto second = space_.take(2 * kG, 0, *first + 2 * kG);
  const auto third = space_.take(2 * kG, 0, *first + 4 * kG);
  ASSERT_EQ(third, *first + 4 * kG);
  space_.give_back(*first, 2 * kG);
  space_.give_back(*third, 2 * kG);
  space_.give_back(*second, 2 * kG);
  EXPECT_EQ(space_.take(6 * kG, 0, *first), first);
}

TEST_F(AddressSpaceTest, LargeRangesGetARegionOfTheirOwn) {
  const std::uint64_t size = std::uint64_t{1} << 38;  // small enough for ThreadSanitizer too
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 2; ++i) {
    const auto base = space_.take(size, 0, 0);
    ASSERT_TRUE(base);
    EXPECT_TRUE(space_.owns(*base, size));
    EXPECT_TRUE(seen.insert(*base).second);
  }
  for (std::uint64_t base : seen) space_.give_back(base, size);
}

TEST_F(AddressSpaceTest, RefusesWhatNoAddressSpaceHolds) {
  EXPECT_FALSE(space_.take(std::uint64_t{1} << 47, 0, 0));
  EXPECT_FALSE(space_.take(~std::uint64_t{0} & ~(kG - 1), 0, 0));
  EXPECT_FALSE(space_.take(kG, std::uint64_t{1} << 46, 0));
  EXPECT_FALSE(space_.take(kG, std::uint64_t{1} << 63, 0));
}

TEST_F(AddressSpaceTest, TheDriversOwnBlockFollowsTheFirstHole) {
  const auto hole = space_.take(kG, 0, 0);
  ASSERT_TRUE(hole);
  EXPECT_FALSE(space_.reserved_by_driver(*hole, kG));
  EXPECT_TRUE(space_.reserved_by_driver(*hole, 2 * kG));
  EXPECT_TRUE(space_.reserved_by_driver(*hole + 36 * kG, kG));
  EXPECT_FALSE(space_.reserved_by_driver(*hole + 37 * kG, kG));
}

TEST_F(AddressSpaceTest, NothingInItIsAccessible) {
  const auto base = space_.take(kG, 0, 0);
  ASSERT_TRUE(base);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long from = 0, to = 0;
    char mode[5];
    ASSERT_EQ(std::sscanf(line.c_str(), "%llx-%llx %4s", &from, &to, mode), 3);
    if (from <= *base && *base < to) {
      EXPECT_EQ(std::string(mode), "---p");
      return;
    }
  }
  FAIL() << "not mapped at all";
}

// Low addresses are free in a test's process, except under AddressSanitizer.
constexpr std::uint64_t kWish = 0x302000000;

bool mapped_by_us(std::uint64_t at, std::uint64_t size) {
  void* const wish = reinterpret_cast<void*>(at);
  return mmap(wish, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
         wish;
}

TEST(AddressSpaceAt, BeginsWhereTheWishIs) {
  if (dlsym(RTLD_DEFAULT, "__asan_init")) GTEST_SKIP() << "AddressSanitizer keeps low addresses";
  const auto opened = in_child([] {
    AddressSpace space;
    return space.open(kWish) && space.take(kG, 0, 0) == kWish && space.take(kG, 0, 0) > kWish;
  });
  EXPECT_TRUE(opened);
}

TEST(AddressSpaceAt, IsElsewhereWhereTheWishIsTaken) {
  const auto opened = in_child([] {
    if (!dlsym(RTLD_DEFAULT, "__asan_init") && !mapped_by_us(kWish + 8 * kG, kPage)) return false;
    AddressSpace space;
    if (!space.open(kWish)) return false;
    const auto base = space.take(kG, 0, 0);
    return base && *base > std::uint64_t{1} << 40;
  });
  EXPECT_TRUE(opened);
}

TEST(AddressSpaceAt, IsSmallerWhereSomethingLiesAboveTheWish) {
  if (dlsym(RTLD_DEFAULT, "__asan_init")) GTEST_SKIP() << "AddressSanitizer keeps low addresses";
  const auto opened = in_child([] {
    // Go's heap begins at this address.
    AddressSpace space;
    return mapped_by_us(0xc000000000, kPage) && space.open(kWish) &&
           space.take(kG, 0, 0) == kWish && !space.owns(0xc000000000, 1);
  });
  EXPECT_TRUE(opened);
}

TEST(AddressSpaceAt, ALimitOfAddressSpaceLeavesASmallOneAtTheWish) {
  if (dlsym(RTLD_DEFAULT, "__asan_init") || dlsym(RTLD_DEFAULT, "__tsan_init"))
    GTEST_SKIP() << "a sanitizer needs more address space";
  const auto opened = in_child([] {
    std::uint64_t pages = 0;  // of other tests' spaces, too
    std::ifstream("/proc/self/statm") >> pages;
    const std::uint64_t bytes = pages * kPage + (std::uint64_t{8} << 30);
    const rlimit limit{bytes, bytes};
    AddressSpace space;
    return setrlimit(RLIMIT_AS, &limit) == 0 && space.open(kWish) &&
           space.take(kG, 0, 0) == kWish && space.owns(kWish, std::uint64_t{4} << 30) &&
           !space.owns(kWish + (std::uint64_t{8} << 30), 1);
  });
  EXPECT_TRUE(opened);
}

}  // namespace
}  // namespace cuvmm::emulator
