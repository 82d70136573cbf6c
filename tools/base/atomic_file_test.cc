// SPDX-License-Identifier: Apache-2.0
#include "tools/base/atomic_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tools/base/temporary_folder.h"

namespace cuvmm::tools {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class AtomicFileTest : public testing::Test {
 protected:
  long files() const { return std::distance(fs::directory_iterator(folder_.path()), {}); }
  TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/report.json";
};

TEST_F(AtomicFileTest, WritesAndReplaces) {
  EXPECT_EQ(write_whole(path_, "one"), "");
  EXPECT_EQ(write_whole(path_, "two"), "");
  EXPECT_EQ(read(path_), "two");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, ObeysTheFileModeMask) {
  const mode_t old = umask(027);
  EXPECT_EQ(write_whole(path_, "x"), "");
  umask(old);
  struct stat status;
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(AtomicFileTest, KeepsTheModeOfWhatItReplaces) {
  for (const mode_t mode : {0600u, 0444u, 0664u}) {
    EXPECT_EQ(write_whole(path_, "one"), "");
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_EQ(write_whole(path_, "two"), "");
    struct stat status;
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode);
    EXPECT_EQ(read(path_), "two");
  }
}

TEST_F(AtomicFileTest, KeepsTheOwnerWhereItMay) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  EXPECT_EQ(write_whole(path_, "one"), "");
  ASSERT_EQ(chown(path_.c_str(), 65534, 65533), 0);
  EXPECT_EQ(write_whole(path_, "two"), "");
  struct stat status;
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534u);
  EXPECT_EQ(status.st_gid, 65533u);
}

TEST_F(AtomicFileTest, WritesThroughLinks) {
  const std::string folder = folder_.path() + "/elsewhere", target = folder + "/r.json";
  fs::create_directory(folder);
  fs::create_symlink("elsewhere/r.json", path_);
  fs::create_symlink(path_, folder_.path() + "/second");
  for (const char* text : {"made", "replaced"}) {
    EXPECT_EQ(write_whole(folder_.path() + "/second", text), "");
    EXPECT_EQ(read(target), text);
  }
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  EXPECT_EQ(cannot_write(path_), "");
  fs::remove_all(folder);
  EXPECT_THAT(cannot_write(path_), HasSubstr("elsewhere: No such file"));
  fs::create_symlink("round", folder_.path() + "/round");
  EXPECT_THAT(write_whole(folder_.path() + "/round", "x"), HasSubstr("Too many levels"));
  EXPECT_THAT(cannot_write(folder_.path() + "/round"), HasSubstr("Too many levels"));
}

TEST_F(AtomicFileTest, AFailureLeavesNothingBehind) {
  fs::create_directory(path_);
  std::ofstream(path_ + "/inside") << "x";
  EXPECT_THAT(write_whole(path_, "one"), HasSubstr("report.json"));
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, AFullDiskIsAnError) {
  EXPECT_THAT(write_whole("/dev/full", "x"), HasSubstr("No space left"));
}

TEST_F(AtomicFileTest, WritesToDevices) { EXPECT_EQ(write_whole("/dev/null", "x"), ""); }

TEST_F(AtomicFileTest, SaysBeforehandWhyNot) {
  EXPECT_EQ(cannot_write(path_), "");
  EXPECT_EQ(cannot_write("/dev/null"), "");
  EXPECT_THAT(cannot_write(folder_.path() + "/no/r.json"), HasSubstr("/no: No such file"));
  EXPECT_THAT(cannot_write(folder_.path()), HasSubstr("is a folder"));
  EXPECT_THAT(cannot_write(""), HasSubstr("empty"));
  // access() says that root can write into /proc.
  EXPECT_THAT(cannot_write("/proc/r.json"), HasSubstr("/proc"));
  write_whole(path_, "x");
  EXPECT_THAT(cannot_write(path_ + "/r.json"), HasSubstr("is not a folder"));
}

}  // namespace
}  // namespace cuvmm::tools
