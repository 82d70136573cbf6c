// SPDX-License-Identifier: Apache-2.0
#include "fuzz/finding/progress.h"

#include <gtest/gtest.h>

namespace cuvmm::fuzz {
namespace {

TEST(Progress, IsToldAsTheTargetsTellIt) {
  testing::internal::CaptureStderr();
  Progress progress{std::chrono::milliseconds(0)};
  progress.tell(7, 210);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "cuvmm: 7 programs, 210 calls\n");
}

TEST(Progress, IsNotToldBeforeThePauseEnds) {
  testing::internal::CaptureStderr();
  Progress progress{std::chrono::hours(24)};
  progress.tell(7, 210);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace cuvmm::fuzz
