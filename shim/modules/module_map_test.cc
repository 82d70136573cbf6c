// SPDX-License-Identifier: Apache-2.0
#include "shim/modules/module_map.h"

#include <gtest/gtest.h>

#include <exception>

namespace cuvmm::shim {
namespace {

TEST(ModuleMap, FindsAnObjectAndTheOffsetInIt) {
  const ModuleMap map(
      "1000-2000 r--p 00000000 08:01 7   /usr/lib/liba.so\n"
      "2000-4000 r-xp 00001000 08:01 7   /usr/lib/liba.so\n"
      "5000-6000 rw-p 00000000 00:00 0 \n"
      "7000-8000 r-xp 00000000 08:01 9   /opt/a b/app\n");
  EXPECT_EQ(map.find(0x2345).path, "/usr/lib/liba.so");
  EXPECT_EQ(map.find(0x2345).offset, 0x1345u);
  EXPECT_EQ(map.find(0x7001).path, "/opt/a b/app");
  EXPECT_EQ(map.find(0x7001).offset, 1u);
  for (const std::uint64_t nowhere : {0x0, 0xfff, 0x4000, 0x5001, 0x8000}) {
    EXPECT_EQ(map.find(nowhere).path, "") << nowhere;
  }
}

TEST(ModuleMap, TextThatIsNoMapIsAnEmptyOne) {
  for (const char* text : {"", "\n\n", "-", "1000", "zz-yy /x", "/path 1000-2000"}) {
    EXPECT_EQ(ModuleMap(text).find(0x1500).path, "") << text;
  }
}

TEST(ModuleMap, ThisFunctionLiesInThisProgram) {
  const auto address = reinterpret_cast<std::uint64_t>(&std::terminate);
  EXPECT_NE(ModuleMap::of_this_process().find(address).path, "");
}

}  // namespace
}  // namespace cuvmm::shim
