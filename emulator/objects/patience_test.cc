// SPDX-License-Identifier: Apache-2.0
// Which functions count as ones that wait for the program; no clock runs here.
#include "emulator/objects/patience.h"

#include <gtest/gtest.h>

namespace cuvmm::emulator {
namespace {

using std::chrono::milliseconds;

TEST(Patience, AFunctionThatWaitsIsNoReasonToHurryAnother) {
  const int waits = 0, computes = 0;
  Patience patience;
  EXPECT_EQ(patience.with(&waits), Patience::kPatience);
  patience.note_outlasted(&waits);
  EXPECT_EQ(patience.with(&waits), Patience::kLittlePatience);
  EXPECT_EQ(patience.with(&computes), Patience::kPatience);
}

TEST(SpentTime, AThreadThatWaitsForAProcessorSpendsNone) {
  SpentTime time;
  EXPECT_EQ(time.add({milliseconds(0), milliseconds(10), false}), milliseconds(0));
  EXPECT_EQ(time.add({milliseconds(5000), milliseconds(13), false}), milliseconds(3));
  EXPECT_EQ(time.add({milliseconds(9000), milliseconds(13), false}), milliseconds(3));
}

TEST(SpentTime, AThreadThatSleepsSpendsAllOfIt) {
  SpentTime time;
  time.add({milliseconds(0), milliseconds(10), true});
  EXPECT_EQ(time.add({milliseconds(700), milliseconds(10), true}), milliseconds(700));
}

TEST(SpentTime, AThreadThatYieldsSpendsAllOfIt) {
  SpentTime time;
  time.add({milliseconds(0), milliseconds(10), false, 0});
  EXPECT_EQ(time.add({milliseconds(700), milliseconds(11), false, 5000}), milliseconds(700));
}

TEST(SpentTime, AThreadThatLosesItsProcessorNowAndThenDoesNot) {
  SpentTime time;
  time.add({milliseconds(0), milliseconds(10), false, 0});
  EXPECT_EQ(time.add({milliseconds(700), milliseconds(50), false, 13}), milliseconds(40));
}

TEST(SpentTime, NobodyKnowsHowLongItSleptIfItWokeUp) {
  SpentTime time;
  time.add({milliseconds(0), milliseconds(10), true});
  EXPECT_EQ(time.add({milliseconds(700), milliseconds(12), false}), milliseconds(2));
  EXPECT_EQ(time.add({milliseconds(800), milliseconds(12), true}), milliseconds(2));
}

}  // namespace
}  // namespace cuvmm::emulator
