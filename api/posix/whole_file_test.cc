// SPDX-License-Identifier: Apache-2.0
#include "api/posix/whole_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace cuvmm {
namespace {

TEST(WholeFile, HasEveryByte) {
  const std::string path = ::testing::TempDir() + "whole_file_test";
  const std::string text = std::string(200'000, 'x') + '\0' + "\r\nend";
  std::ofstream(path, std::ios::binary) << text;
  const WholeFile read = whole_file(path);
  std::filesystem::remove(path);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.text, text);
}

TEST(WholeFile, SaysWhyThereIsNone) {
  EXPECT_EQ(whole_file("/no/such/file").error, "No such file or directory");
  EXPECT_EQ(whole_file(::testing::TempDir()).error, "Is a directory");
}

}  // namespace
}  // namespace cuvmm
