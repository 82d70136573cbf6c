// SPDX-License-Identifier: Apache-2.0
#include "conformance/record/visible_devices.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "conformance/run/testing.h"

namespace cuvmm::conformance {
namespace {

TEST(VisibleDevices, ShowsTheFirstOfThoseThatWereVisible) {
  EXPECT_EQ(first_devices(nullptr, 1), "0");
  EXPECT_EQ(first_devices(nullptr, 3), "0,1,2");
  EXPECT_EQ(first_devices("4,2,7", 2), "4,2");
  EXPECT_EQ(first_devices("GPU-1a,GPU-2b", 1), "GPU-1a");
  EXPECT_EQ(first_devices("5", 2), "5");
}

TEST(VisibleDevices, PutsTheEnvironmentBack) {
  setenv("CUDA_VISIBLE_DEVICES", "3,4", 1);
  unsetenv("CUVMM_DEVICES");
  {
    const VisibleDevices one(1);
    EXPECT_STREQ(getenv("CUDA_VISIBLE_DEVICES"), "3");
    EXPECT_STREQ(getenv("CUVMM_DEVICES"), "1");
  }
  EXPECT_STREQ(getenv("CUDA_VISIBLE_DEVICES"), "3,4");
  EXPECT_EQ(getenv("CUVMM_DEVICES"), nullptr);
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(VisibleDevices, LetCasesOfOneDeviceRunWhereThereAreMore) {
  setenv("CUVMM_DEVICES", "8", 1);
  const auto cases = parse_cases(
                         "case g/one\nneeds devices=1\ninit()\ncuDeviceGetCount()\n"
                         "case g/all\nneeds devices>=2\ninit()\ncuDeviceGetCount()\n"
                         "case g/two\nneeds devices=2\ninit()\ncuDeviceGetCount()\n",
                         "f")
                         .cases;
  const RecordResult run = record_cases(CUVMM_EMULATOR, cases, {});
  unsetenv("CUVMM_DEVICES");
  ASSERT_EQ(run.error, "");
  EXPECT_TRUE(run.recording.skipped.empty());
  EXPECT_EQ(run.recording.cases.at("g/one").back(), "CUDA_SUCCESS =1");
  EXPECT_EQ(run.recording.cases.at("g/two").back(), "CUDA_SUCCESS =2");
  EXPECT_EQ(run.recording.cases.at("g/all").back(), "CUDA_SUCCESS =8");
}

}  // namespace
}  // namespace cuvmm::conformance
