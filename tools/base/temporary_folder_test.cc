// SPDX-License-Identifier: Apache-2.0
#include "tools/base/temporary_folder.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace cuvmm::tools {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class TemporaryFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const before = getenv("TMPDIR");
    if (before) saved_ = before;
    had_ = before != nullptr;
  }
  void TearDown() override { had_ ? setenv("TMPDIR", saved_.c_str(), 1) : unsetenv("TMPDIR"); }
  std::string saved_;
  bool had_ = false;
};

TEST_F(TemporaryFolderTest, LiesWhereTmpdirSaysAndGoesWithAllThatItHolds) {
  const TemporaryFolder outer;
  setenv("TMPDIR", outer.path().c_str(), 1);
  std::string path;
  {
    const TemporaryFolder inner;
    path = inner.path();
    EXPECT_THAT(path, StartsWith(outer.path() + "/cuvmm-"));
    EXPECT_EQ(inner.problem(), "");
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    std::ofstream(path + "/file") << "x";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TemporaryFolderTest, LiesElsewhereWhereTmpdirCannotBeWritten) {
  setenv("TMPDIR", "/nowhere/at/all", 1);
  const TemporaryFolder folder;
  EXPECT_NE(folder.path(), "");
  EXPECT_EQ(folder.problem(), "");
}

TEST_F(TemporaryFolderTest, SaysWhatIsWrongWithAPlaceThatWasChosen) {
  const TemporaryFolder folder("/nowhere/at/all");
  EXPECT_EQ(folder.path(), "");
  EXPECT_THAT(folder.problem(), HasSubstr("(/nowhere/at/all: No such file or directory)"));
  EXPECT_THAT(folder.problem(), HasSubstr("Set TMPDIR"));
}

}  // namespace
}  // namespace cuvmm::tools
