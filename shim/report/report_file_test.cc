// SPDX-License-Identifier: Apache-2.0
#include "shim/report/report_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "shim/report/json_report.h"

namespace cuvmm::shim {
namespace {

class ReportFileTest : public testing::Test {
 protected:
  ReportFileTest() {
    char name[] = "/tmp/cuvmm-report-file-XXXXXX";
    folder_ = std::filesystem::canonical(::mkdtemp(name));
    context_.driver = "{}";
    context_.unchecked = "[]";
  }
  ~ReportFileTest() override { std::filesystem::remove_all(folder_); }

  int write(ReportFile& file, const char* ended = "exit", bool keep = false) {
    context_.ended = ended;
    return file.write(context_, ledger_, keep);
  }
  static std::string read(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static int documents(const std::string& text) {
    int count = 0;
    for (std::size_t at = 0; (at = text.find("{\"schema\"", at)) != std::string::npos; ++at)
      ++count;
    return count;
  }
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      count += entry.is_regular_file();
    return count;
  }

  std::filesystem::path folder_;
  ReportContext context_;
  Ledger ledger_{{}, [](const Entry&) {}};
};

TEST_F(ReportFileTest, AReportIsWrittenWholeOrNotAtAll) {
  ReportFile nowhere, taken;
  nowhere.choose(folder_ / "none" / "r.json", false);
  EXPECT_EQ(write(nowhere), ENOENT);
  // A folder has the report's name: no file is left behind.
  std::filesystem::create_directories(folder_ / "taken" / "x");
  taken.choose(folder_ / "taken", false);
  EXPECT_NE(write(taken), 0);
  EXPECT_EQ(files(), 0u);
}

TEST_F(ReportFileTest, AnIdleProcessLeavesAReportThatIsThere) {
  const auto path = folder_ / "r.json";
  std::ofstream(path) << "earlier";
  ReportFile file;
  file.choose(path, false);
  EXPECT_EQ(write(file, "exit", true), 0);
  EXPECT_EQ(read(path), "earlier");
  EXPECT_EQ(write(file), 0);
  EXPECT_EQ(documents(read(path)), 1);
}

TEST_F(ReportFileTest, WhatIsReplacedKeepsItsModeAndTheLinkToIt) {
  const auto path = folder_ / "r.json", link = folder_ / "link.json";
  std::ofstream(path) << "earlier";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  std::filesystem::create_symlink(path, link);
  ReportFile file;
  file.choose(link, false);
  ASSERT_EQ(write(file), 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(documents(read(path)), 1);
  struct stat now;
  ASSERT_EQ(::stat(path.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 07777, 0600u);
}

TEST_F(ReportFileTest, TheFolderIsReachedByTheDescriptorKept) {
  const auto before = folder_ / "before", after = folder_ / "after";
  std::filesystem::create_directory(before);
  ReportFile file;
  file.choose(before / "r.json", false);
  std::filesystem::rename(before, after);
  EXPECT_EQ(write(file), 0);
  EXPECT_EQ(documents(read(after / "r.json")), 1);
}

TEST_F(ReportFileTest, WhereItCannotBeReplacedADocumentIsAppended) {
  const auto path = folder_ / "r.json";
  ReportFile file;
  file.choose(path, true);
  ASSERT_EQ(write(file, "running"), 0);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const int error = write(file, "exit");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(error, 0);
  const std::string text = read(path);
  EXPECT_EQ(documents(text), 2);
  EXPECT_LT(text.find("\"ended\":\"running\""), text.find("\"ended\":\"exit\""));
}

TEST_F(ReportFileTest, AMarkOfALostReportNeedsNoSpace) {
  const auto path = folder_ / "r.json", mark = folder_ / "r.json.lost";
  ReportFile file;
  file.choose(path, true);
  ASSERT_EQ(write(file, "running"), 0);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const int error = write(file, "exit");
  file.mark_lost(true);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(error, 0);
  EXPECT_EQ(std::filesystem::file_size(mark), 0u);
  // The report fits after all.
  ASSERT_EQ(write(file, "exit"), 0);
  file.mark_lost(false);
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReportFileTest, AMarkThatCannotBeMadeEmptiesTheReport) {
  const auto path = folder_ / "r.json";
  ReportFile file;
  file.choose(path, true);
  ASSERT_EQ(write(file, "running"), 0);
  std::filesystem::create_directory(folder_ / "r.json.lost");
  file.mark_lost(true);
  EXPECT_EQ(std::filesystem::file_size(path), 0u);
}

TEST_F(ReportFileTest, AReportThatDoesNotFitLeavesAMarkAndNoSignal) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{10, before.rlim_max};
  ASSERT_EQ(::signal(SIGXFSZ, SIG_DFL), SIG_DFL);
  ReportFile file;
  file.choose(folder_ / "r.json", true);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const int error = write(file, "running");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(error, EFBIG);
  EXPECT_EQ(read(folder_ / "r.json").size(), 10u);
  EXPECT_EQ(files(), 1u);
  // The disk has space again.
  EXPECT_EQ(write(file, "exit"), 0);
  EXPECT_EQ(documents(read(folder_ / "r.json")), 1);
}

}  // namespace
}  // namespace cuvmm::shim
