// SPDX-License-Identifier: Apache-2.0
// The attributes of the emulated device are those that a GPU was seen to have.
#include "emulator/machine/device_attributes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "rulebook/profile/profile.h"

namespace cuvmm::emulator {
namespace {

TEST(DeviceAttributes, AreThoseOfAnH100) {
  // The emulator has no launches on several devices and no clusters of several blocks, so it does
  // not say that it has them.
  const std::set<int> absent{96, 120};
  const ProfileResult profile = load_profile("h100-580.159.04");
  ASSERT_EQ(profile.error, "");
  std::ifstream file(CUVMM_H100_ATTRIBUTES);
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    int number = 0, value = 0;
    ASSERT_TRUE(words >> number >> value) << line;
    if (absent.contains(number)) continue;
    auto here = profile.profile.attribute(number, 1);
    if (!here) here = default_attribute(number);
    EXPECT_EQ(here, value) << "attribute " << number;
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace cuvmm::emulator
