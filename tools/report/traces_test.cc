// SPDX-License-Identifier: Apache-2.0
#include "tools/report/traces.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tools/base/temporary_folder.h"

namespace cuvmm::tools {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class TracesTest : public testing::Test {
 protected:
  void record(const std::string& pid, const std::string& calls) {
    std::string name = pattern_;
    name.replace(name.find("%p"), 2, pid);
    std::ofstream(name) << "cuvmm-program 1\ninit()\n" << calls;
  }
  TemporaryFolder folder_;
  std::string file_ = folder_.path() + "/t.txt";
  std::string pattern_ = trace_pattern(file_);
};

TEST_F(TracesTest, ANameOfTheUsersOwnStays) {
  EXPECT_EQ(trace_pattern("/x/t.%p"), "/x/t.%p");
  EXPECT_EQ(trace_pattern(""), "");
  EXPECT_THAT(collect_traces("/x/t.%p", "/x/t.%p"), IsEmpty());
}

TEST_F(TracesTest, TheOnlyOneWithCallsGetsTheName) {
  record("10", "");
  record("11", "cuMemRelease(1)\n");
  EXPECT_THAT(collect_traces(file_, pattern_), ElementsAre(file_));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(TracesTest, WhatIsReplacedKeepsItsModeAndItsLinks) {
  const std::string target = folder_.path() + "/private.txt";
  std::ofstream(target) << "old";
  fs::permissions(target, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("private.txt", file_);
  record("11", "cuMemRelease(1)\n");
  EXPECT_THAT(collect_traces(file_, pattern_), ElementsAre(file_));
  EXPECT_TRUE(fs::is_symlink(file_));
  EXPECT_EQ(fs::status(target).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_GT(fs::file_size(target), 20u);
}

TEST_F(TracesTest, ADeviceIsWrittenToAndStays) {
  fs::create_symlink("/dev/null", file_);
  record("11", "cuMemRelease(1)\n");
  EXPECT_THAT(collect_traces(file_, pattern_), ElementsAre(file_));
  EXPECT_TRUE(fs::is_character_file(file_));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(TracesTest, SeveralKeepTheirProcess) {
  record("10", "cuMemRelease(1)\n");
  record("11", "cuMemRelease(1)\n");
  EXPECT_THAT(collect_traces(file_, pattern_), ElementsAre(file_ + ".10", file_ + ".11"));
}

TEST_F(TracesTest, NoneLeavesNothing) {
  record("10", "");
  EXPECT_THAT(collect_traces(file_, pattern_), IsEmpty());
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

}  // namespace
}  // namespace cuvmm::tools
