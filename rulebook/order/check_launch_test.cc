// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "api/sizes.h"
#include "rulebook/order/check_work.h"
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_launch_test {
namespace {

TEST(CheckLaunch, SaysNothingOfWhatTheModelDoesNotKnow) {
  const Model model;
  const LaunchArgument argument{0x700000000000, 0};
  EXPECT_TRUE(check_launch(model, &argument, 1, 0, false).empty());
  EXPECT_TRUE(check_launch(model, &argument, 1, 0, true).empty());
}

TEST(CheckLaunch, FreedAddressSpaceCountsOnlyWhereNoMemoryIs) {
  testing::World w;
  w.reserve(testing::kBase, 1);
  w.accept(calls::MemAddressFree{testing::kBase, kGranule});
  const LaunchArgument argument{testing::kBase, 3};
  EXPECT_TRUE(check_launch(w.model, &argument, 1, 0, false).empty());
  const Violations v = check_launch(w.model, &argument, 1, 0, true);
  ASSERT_EQ(v.size(), 1u);
  EXPECT_EQ(v[0].rule, Rule::kLaunchAlive);
  EXPECT_THAT(v[0].message, ::testing::HasSubstr("argument 3 is 0x700000000000"));
}

TEST(CheckLaunch, ManyArgumentsWithOneFaultAreOneFinding) {
  testing::World w;
  w.reserve(testing::kBase, 8);
  const LaunchArgument arguments[] = {{testing::kBase, 0}, {testing::kBase + kGranule, 1}};
  EXPECT_EQ(check_launch(w.model, arguments, 2, 0, false).size(), 1u);
}

// Memory of a pool that was freed and that lay at the end of a reservation.
Violations launch_behind_a_reservation(testing::World& w) {
  constexpr Address kFreed = testing::kBase + kGranule;
  CUdeviceptr out = kFreed;
  w.accept(calls::MemAllocAsync{.dptr = &out, .bytesize = kGranule});
  w.accept(calls::MemFreeAsync{.dptr = kFreed});
  const LaunchArgument argument{kFreed, 0};
  return check_launch(w.model, &argument, 1, 0, true);
}

TEST(CheckLaunch, MemoryOfAPoolThatWasFreedBehindAnEmptyReservationIsFound) {
  testing::World w;
  w.reserve(testing::kBase, 1);
  const Violations v = launch_behind_a_reservation(w);
  ASSERT_EQ(v.size(), 1u);
  EXPECT_EQ(v[0].rule, Rule::kLaunchAlive);
}

TEST(CheckLaunch, TheEndOfAMappingIsNoPlaceToGoEvenIfAPoolHadItsMemoryThere) {
  testing::World w;
  w.mapped(testing::kBase, 1);
  EXPECT_TRUE(launch_behind_a_reservation(w).empty());
}

}  // namespace
}  // namespace cuvmm::testing::check_launch_test
