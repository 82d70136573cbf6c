// SPDX-License-Identifier: Apache-2.0
// Tests finding processes that keep files of the driver open and show no objects.
#include "tools/live/sharing/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cuvmm::tools {
namespace {

// A plain file stands for the driver's file, and this process for the process that opened it.
TEST(OpenFiles, AForkedWorkerThatKeepsTheDriversFilesIsNamed) {
  std::string folder = (std::filesystem::temp_directory_path() / "cuvmm-files-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  folder = std::filesystem::canonical(folder).string();
  const std::string prefix = folder + "/nvidia";
  std::ofstream(prefix + "0").flush();
  const int device = ::open((prefix + "0").c_str(), O_RDONLY | O_CLOEXEC);
  const int again = ::dup(device);
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t worker = ::fork();
  if (worker == 0) {
    ::close(gate[1]);
    char end = 0;
    ::_exit(static_cast<int>(::read(gate[0], &end, 1)));
  }
  ::close(gate[0]);
  std::vector<DeviceFiles> keepers = device_file_keepers({::getpid()}, prefix);
  ASSERT_EQ(keepers.size(), 1u);
  EXPECT_EQ(keepers[0].pid, worker);
  EXPECT_EQ(keepers[0].count, 2u);
  EXPECT_NE(device_files_text(keepers).find(" has 2 files of the driver open"), std::string::npos);
  EXPECT_EQ(device_file_keepers({::getpid(), worker}, prefix).size(), 0u) << "it shows what it has";
  ::close(gate[1]);
  ::waitpid(worker, nullptr, 0);
  keepers = device_file_keepers({}, prefix);
  ASSERT_EQ(keepers.size(), 1u) << "this process itself";
  EXPECT_EQ(keepers[0].pid, ::getpid());
  ::close(device);
  ::close(again);
  EXPECT_TRUE(device_file_keepers({}, prefix).empty());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cuvmm::tools
