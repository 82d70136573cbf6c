// SPDX-License-Identifier: Apache-2.0
#include "tools/report/blame/own_code.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tools/base/temporary_folder.h"
#include "tools/command_line/usage.h"
#include "tools/report/blame/testing_stacks.h"

namespace cuvmm::tools {
namespace {

TEST(OwnCode, HoldsWhatLiesInAFolder) {
  const OwnCode own({"/home/me/src/"});
  EXPECT_TRUE(own.holds(python("/home/me/src/a/b.py")));
  EXPECT_TRUE(own.holds(python("/home/me/src/../src/b.py")));
  EXPECT_TRUE(own.holds(native("/home/me/src/app")));
  EXPECT_TRUE(own.holds(native("/tmp/build/app", "f", "/home/me/src/a.cc")));
  EXPECT_FALSE(own.holds(python("/home/me/src2/a.py")));
  EXPECT_FALSE(own.holds(python("/home/me/a.py")));
  EXPECT_FALSE(own.holds(native("/tmp/build/app")));
  EXPECT_FALSE(own.holds(python("<string>")));
}

TEST(OwnCode, HoldsAFileAndAnObjectByItsName) {
  const OwnCode file({"/home/me/a.py"});
  EXPECT_TRUE(file.holds(python("/home/me/a.py")));
  EXPECT_FALSE(file.holds(python("/home/me/a.pyc")));
  const OwnCode object({"libmine.so"});
  EXPECT_TRUE(object.holds(native("/opt/lib/libmine.so")));
  EXPECT_TRUE(object.holds(native("/opt/lib/libmine.so.2")));
  EXPECT_FALSE(object.holds(native("/opt/lib/libmine.so-old")));
  EXPECT_FALSE(object.holds(native("/opt/libmine.so/app")));
}

TEST(OwnCode, SeesThroughLinks) {
  const TemporaryFolder folder;
  const std::filesystem::path top = folder.path();
  std::filesystem::create_directory(top / "real");
  std::ofstream(top / "real" / "a.py") << "";
  std::filesystem::create_directory_symlink("real", top / "link");
  for (const char* given : {"real", "link"}) {
    const OwnCode own({(top / given).string()});
    EXPECT_TRUE(own.holds(python((top / "real" / "a.py").string()))) << given;
    EXPECT_TRUE(own.holds(python((top / "link" / "a.py").string()))) << given;
  }
}

TEST(OwnCode, AMistypedWordIsAnError) {
  const TemporaryFolder folder;
  const std::string here = folder.path();
  EXPECT_THAT(checked_own_code({here, "libmine.so", "app"}, "/usr/bin/app"),
              testing::ElementsAre(here, "libmine.so", "app"));
  EXPECT_THROW(checked_own_code({here + "/none"}, "app"), UsageError);
  EXPECT_THROW(checked_own_code({"no-such-folder"}, "app"), UsageError);
}

}  // namespace
}  // namespace cuvmm::tools
