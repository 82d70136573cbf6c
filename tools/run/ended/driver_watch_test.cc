// SPDX-License-Identifier: Apache-2.0
#include "tools/run/ended/driver_watch.h"

#include <gmock/gmock.h>

namespace cuvmm::tools {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kShim = "libcuvmm-shim.so";

std::string line(const char* permissions, const char* offset, const char* path) {
  return std::string("7f0000000000-7f0000001000 ") + permissions + " " + offset +
         " 08:01 1234                    " + path + "\n";
}

TEST(DriversIn, NamesThoseWhoseCodeIsThere) {
  const std::string maps = line("r-xp", "00001000", "/usr/lib/libcuvmm-shim.so") +
                           line("r--p", "00000000", "/usr/lib/libcuda.so.1") +
                           line("r-xp", "00001000", "/usr/lib/libcuda.so.1") +
                           line("r--p", "00000000", "/opt/read/libcuda.so.1") +
                           line("r-xp", "00001000", "/usr/lib/libcudart.so.13") +
                           "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n";
  const MappedDrivers found = drivers_in(maps, kShim);
  EXPECT_TRUE(found.shim);
  EXPECT_THAT(found.drivers, ElementsAre("/usr/lib/libcuda.so.1"));
  EXPECT_THAT(found.twice, IsEmpty());
}

TEST(DriversIn, SeesTheSameFileTwiceAndNoShim) {
  const std::string once = line("r-xp", "00001000", "/a b/libcuda.so.1 (deleted)");
  const MappedDrivers found = drivers_in(once + once, kShim);
  EXPECT_FALSE(found.shim);
  EXPECT_THAT(found.twice, ElementsAre("/a b/libcuda.so.1"));
}

}  // namespace
}  // namespace cuvmm::tools
