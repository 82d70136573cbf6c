// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "emulator/base/device_identity.h"

namespace cuvmm::emulator {
namespace {

TEST(Options, ParsesBytes) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("2K"), 2048u);
  EXPECT_EQ(parse_bytes("3M"), 3u << 20);
  EXPECT_EQ(parse_bytes("80G"), 80ull << 30);
  EXPECT_EQ(parse_bytes("1T"), 1ull << 40);
}

TEST(Options, RefusesWhatIsNoByteCount) {
  for (const char* text : {"", "G", "-1", "1.5G", "80GB", "80 G", "0x10", "99999999999T"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

class OptionsEnvironment : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name :
         {"CUVMM_PROFILE", "CUVMM_DEVICES", "CUVMM_HOST", "CUVMM_OUTAGE", "CUVMM_DEVICE_MEMORY",
          "CUVMM_STREAMS", "CUVMM_KERNELS", "CUVMM_KERNEL_STEPS"}) {
      unsetenv(name);
    }
  }
};

TEST_F(OptionsEnvironment, DefaultsToEightDevicesOfTheProfile) {
  const Options options = read_options();
  EXPECT_EQ(options.error, "");
  EXPECT_EQ(options.devices, 8);
  EXPECT_EQ(options.device_memory, 0u);
  EXPECT_EQ(options.profile, "");
  EXPECT_FALSE(options.streams.late);
}

TEST(VisibleDevicesOption, AreThoseThatAreNamedInTheirOrder) {
  using Those = std::vector<int>;
  EXPECT_EQ(visible_devices(nullptr, 3), (Those{0, 1, 2}));
  EXPECT_EQ(visible_devices("", 3), Those{});
  EXPECT_EQ(visible_devices("-1", 3), Those{});
  EXPECT_EQ(visible_devices("2,0", 3), (Those{2, 0}));
  EXPECT_EQ(visible_devices(" 1 , +2 ", 3), (Those{1, 2}));
  EXPECT_EQ(visible_devices("0,2,-1,1", 3), (Those{0, 2})) << "what names none ends the list";
  EXPECT_EQ(visible_devices("0,3,1", 3), Those{0});
  EXPECT_EQ(visible_devices("1,,2", 3), Those{1});
  EXPECT_EQ(visible_devices("1,cpu,2", 3), Those{1});
  EXPECT_EQ(visible_devices("1gpu", 3), Those{1});
  EXPECT_EQ(visible_devices("99999999999999999999", 3), Those{});
  EXPECT_EQ(visible_devices("0,1,0", 3), Those{}) << "twice the same leaves nothing";
  EXPECT_EQ(visible_devices("MIG-GPU-6375766d-6d00-8000-8000-000000000000/1/0", 3), Those{});
}

TEST(VisibleDevicesOption, AreNamedByTheBeginningsOfTheirUuids) {
  using Those = std::vector<int>;
  const std::string second = uuid_text(1), eleventh = uuid_text(10);
  EXPECT_EQ(visible_devices(second.c_str(), 11), Those{1});
  EXPECT_EQ(visible_devices((eleventh + ",0," + second).c_str(), 11), (Those{10, 0, 1}));
  EXPECT_EQ(visible_devices("GPU-6375766d", 1), Those{0}) << "no other begins so";
  EXPECT_EQ(visible_devices("GPU-6375766d", 2), Those{});
  EXPECT_EQ(visible_devices("GPU-ffffffff", 2), Those{});
  EXPECT_EQ(visible_devices((second + "," + second).c_str(), 2), Those{});
}

TEST_F(OptionsEnvironment, KernelsRunOrAreSkipped) {
  EXPECT_TRUE(read_options().run_kernels);
  setenv("CUVMM_KERNELS", "skip", 1);
  setenv("CUVMM_KERNEL_STEPS", "1000", 1);
  EXPECT_FALSE(read_options().run_kernels);
  EXPECT_EQ(read_options().kernel_steps, 1000u);
  EXPECT_EQ(read_options().error, "");
  setenv("CUVMM_KERNEL_STEPS", "0", 1);
  EXPECT_NE(read_options().error, "");
  unsetenv("CUVMM_KERNEL_STEPS");
  setenv("CUVMM_KERNELS", "check:init,sync", 1);
  const Options some = read_options();
  EXPECT_TRUE(some.run_kernels && some.kernel_checks.init && some.kernel_checks.sync);
  EXPECT_FALSE(some.kernel_checks.memory || some.kernel_checks.race);
  setenv("CUVMM_KERNELS", "check", 1);
  EXPECT_TRUE(read_options().kernel_checks.memory && read_options().kernel_checks.race);
  for (const char* wrong : {"maybe", "check:", "check:init,", "check:leaks"}) {
    setenv("CUVMM_KERNELS", wrong, 1);
    EXPECT_NE(read_options().error, "") << wrong;
  }
}

TEST_F(OptionsEnvironment, ReadsAllThree) {
  setenv("CUVMM_PROFILE", "documented", 1);
  setenv("CUVMM_DEVICES", "2", 1);
  setenv("CUVMM_DEVICE_MEMORY", "1G", 1);
  const Options options = read_options();
  EXPECT_EQ(options.error, "");
  EXPECT_EQ(options.profile, "documented");
  EXPECT_EQ(options.devices, 2);
  EXPECT_EQ(options.device_memory, 1u << 30);
}

TEST_F(OptionsEnvironment, AHostOfARackSeesItsOwnDevices) {
  setenv("CUVMM_DEVICES", "8", 1);
  setenv("CUVMM_HOST", "7/8", 1);
  const Options options = read_options();
  EXPECT_EQ(options.error, "");
  EXPECT_EQ(options.host, 7);
  EXPECT_EQ(options.hosts, 8);
  EXPECT_EQ(visible_devices(nullptr, 2, 14), (std::vector<int>{14, 15}));
  EXPECT_EQ(visible_devices("1,0", 2, 14), (std::vector<int>{15, 14}));
  EXPECT_EQ(visible_devices("2", 2, 14), std::vector<int>{});
  EXPECT_EQ(visible_devices(uuid_text(15).c_str(), 2, 14), std::vector<int>{15});
  EXPECT_EQ(visible_devices(uuid_text(1).c_str(), 2, 14), std::vector<int>{});
  for (const char* text : {"8/8", "-1/8", "1", "1/", "1/8x", "0/9", "0/0", "0/99999999999"}) {
    setenv("CUVMM_HOST", text, 1);
    EXPECT_EQ(read_options().error, "CUVMM_HOST=" + std::string(text) +
                                        ": expected HOST/HOSTS, such as 0/2, with at most 64 " +
                                        "devices in all");
  }
}

TEST_F(OptionsEnvironment, AnOutageHasAName) {
  EXPECT_EQ(read_options().outage, Outage::kNone);
  setenv("CUVMM_OUTAGE", "fabric-lost", 1);
  EXPECT_EQ(read_options().outage, Outage::kFabricLost);
  EXPECT_EQ(read_options().error, "");
  setenv("CUVMM_OUTAGE", "flood", 1);
  EXPECT_EQ(read_options().error,
            "CUVMM_OUTAGE=flood: expected one of " + std::string(kOutageNames));
}

TEST_F(OptionsEnvironment, SaysWhatWasExpected) {
  for (const char* text : {"-1", "many", "2x", "63"}) {
    setenv("CUVMM_DEVICES", text, 1);
    EXPECT_EQ(read_options().error,
              "CUVMM_DEVICES=" + std::string(text) + ": expected a count from 0 to 62");
  }
  setenv("CUVMM_DEVICES", "1", 1);
  setenv("CUVMM_DEVICE_MEMORY", "lots", 1);
  EXPECT_NE(read_options().error.find("CUVMM_DEVICE_MEMORY=lots: expected bytes"),
            std::string::npos);
}

TEST_F(OptionsEnvironment, ReadsWhenStreamsWork) {
  setenv("CUVMM_STREAMS", "late", 1);
  EXPECT_TRUE(read_options().streams.late);
  EXPECT_EQ(read_options().streams.seed, 0u);
  setenv("CUVMM_STREAMS", "late:18446744073709551615", 1);
  EXPECT_EQ(read_options().streams.seed, UINT64_MAX);
  setenv("CUVMM_STREAMS", "eager", 1);
  EXPECT_FALSE(read_options().streams.late);
  for (const char* text : {"lazy", "late:", "late:x", "late:7x", "eager:1", "late:-1"}) {
    setenv("CUVMM_STREAMS", text, 1);
    EXPECT_NE(read_options().error.find("expected eager, late, or late:SEED"), std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace cuvmm::emulator
