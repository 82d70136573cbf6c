// SPDX-License-Identifier: Apache-2.0
// Tests files that a process makes, and what readers take from them after somebody has cut, damaged
// or replaced them.
#include "recorder/recorded_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "recorder/holdings/reader.h"
#include "recorder/holdings/writer.h"
#include "recorder/last_calls/reading.h"
#include "recorder/last_calls/writer.h"
#include "recorder/new_file.h"
#include "recorder/timeline/reader.h"
#include "recorder/timeline/writer.h"

namespace cuvmm::recorder {
namespace {

using Kind = Refusal::Kind;
using Named = RecordedFile::Named;

constexpr Shape kSmall{Section::kTimeline, 77, 16384};
constexpr Shape kShapes[] = {last_calls::kShape, holdings::kShape, timeline::kShape};

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "cuvmm-files-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // Overwrites one word of the file.
  static void put(const std::string& file, std::size_t word, std::uint64_t value) {
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekp(static_cast<std::streamoff>(word * 8));
    stream.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static Refusal open(const std::string& file, const Shape& shape, Named named = Named::kByPerson) {
    RecordedFile opened;
    return opened.open(file, shape, named);
  }
  std::string make(const std::string& name, const Shape& shape = kSmall) {
    NewFile file;
    EXPECT_EQ(file.create(path(name), shape, sizeof(FileHeader)), 0);
    file.describe("libfoo.so");
    file.publish();
    return path(name);
  }

  // Makes a file of each section, with some content.
  std::string last_calls() {
    NewFile file;
    EXPECT_EQ(file.create(path("1.ring"), last_calls::kShape, last_calls::kShape.bytes), 0);
    auto* const image = static_cast<last_calls::Image*>(file.memory());
    last_calls::fill_rows(image->entries);
    last_calls::Writer writer;
    last_calls::ThreadPlace me;
    writer.start(image);
    for (std::uint64_t i = 0; i < 5000; ++i) {
      const auto call = writer.begin(me, EntryPoint::kMemUnmap, {i << 21, 2 << 20});
      writer.note_end(me, {last_calls::ObjectKind::kMapping, 0, i << 21, 2 << 20, i, i + 1});
      if (i % 100 != 0) writer.end(me, call, 0);
    }
    writer.keep_maps();
    return path("1.ring");
  }
  std::string holdings(holdings::Writer& writer) {
    EXPECT_EQ(writer.open(path("1.live"), "libfoo.so"), 0);
    const std::uintptr_t frames[] = {11, 12};
    const frames::PythonLine lines[] = {{9, false, 3, "f", "/a.py"}};
    writer.note_stack(1, frames, lines);
    for (std::uint64_t i = 1; i <= 3000; ++i) {
      Reservation r;
      r.base = i << 21;
      r.size = 1 << 21;
      r.made = {i, 1, 0};
      writer.put(r);
      writer.put(holdings::Piece{i << 12, 100, holdings::Piece::Kind::kPool, 2, 77, {8, 1, 0}});
    }
    return path("1.live");
  }
  std::string timeline() {
    timeline::Writer writer;
    EXPECT_EQ(writer.open(path("1.timeline")), 0);
    for (std::uint64_t i = 1; i <= 5000; ++i) {
      const auto what = i % 2 != 0 ? timeline::What::kBegin : timeline::What::kEnd;
      writer.add(what, timeline::Object::kAllocation, 3, {i / 2, 100, 0, i - 1}, {i, 0, 1}, i * 10);
    }
    writer.finish();
    return path("1.timeline");
  }
  // Reads a file of a section; returns the error, or "".
  static std::string read(const Shape& shape, const std::string& file) {
    last_calls::Reading calls;
    timeline::Recorded events;
    if (shape.section == Section::kLastCalls) return last_calls::read_file(file, calls);
    if (shape.section == Section::kTimeline) return timeline::read_file(file, events);
    holdings::View view;
    const std::string problem = view.open(file);
    if (!problem.empty()) return problem;
    const holdings::Snapshot all = view.snapshot();
    for (const Reservation& r : all.reservations) {
      (void)view.stack(r.made.stack);
      (void)view.python(r.made.stack);
    }
    (void)view.program();
    return "";
  }

  std::string folder_;
};

TEST_F(Files, WhatOneProcessWritesAnotherOneReads) {
  const std::string file = make("a");
  RecordedFile opened;
  ASSERT_EQ(opened.open(file, kSmall, Named::kByOneUser).text, "");
  FileHeader header;
  ASSERT_TRUE(opened.read(&header, sizeof header, 0));
  EXPECT_EQ(header.pid, static_cast<std::uint64_t>(getpid()));
  EXPECT_STREQ(header.driver, "libfoo.so");
  EXPECT_EQ(header.program, std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_NE(header.first.ticks, 0u);
  EXPECT_NE(header.first_unix_ns, 0u);
  char end[2];
  EXPECT_FALSE(opened.read(end, 2, kSmall.bytes - 1));
  const auto* const bytes = static_cast<const char*>(opened.map());
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(std::memcmp(bytes, &header, sizeof header), 0);
  // Bytes that somebody cuts off read as 0, and the reader survives.
  std::filesystem::resize_file(file, 4096);
  EXPECT_EQ(bytes[3 * 4096], 0);
  EXPECT_TRUE(opened.cut());
}

TEST_F(Files, NobodysFileIsOverwritten) {
  const std::string file = make("a");
  NewFile second;
  EXPECT_EQ(second.create(file, kSmall, 64), EEXIST);
  EXPECT_EQ(second.memory(), nullptr);
  EXPECT_EQ(open(file, kSmall).text, "");
  EXPECT_EQ(second.create("/nowhere/at/all", kSmall, 64), ENOENT);
  std::filesystem::create_symlink(path("target"), path("link"));
  EXPECT_EQ(second.create(path("link"), kSmall, 64), EEXIST);
  EXPECT_FALSE(std::filesystem::exists(path("target")));
}

TEST_F(Files, AFileThatMayNotBeSoLargeIsNotMade) {
  const pid_t child = fork();
  if (child == 0) {
    // The limit holds for the test's own output too, because that may be a long file, to which
    // ThreadSanitizer writes at the end.
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    const rlimit least{4096, 4096};
    setrlimit(RLIMIT_FSIZE, &least);
    _exit((new NewFile)->create(path("a"), kSmall, 64) == EFBIG ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(std::filesystem::exists(path("a")));
}

TEST_F(Files, EachSaysWhyItIsNotTaken) {
  const std::string file = make("a");
  EXPECT_EQ(open(file, {Section::kHoldings, 77, 16384}).text,
            "it holds a process's timeline, not what a process holds");
  EXPECT_EQ(open(file, {Section::kTimeline, 78, 16384}).text, "another build of cuvmm wrote it");
  EXPECT_EQ(open(file, {Section::kTimeline, 77, 32768}).text, "its header is damaged");
  put(file, offsetof(FileHeader, section) / 8, 99);
  EXPECT_EQ(open(file, kSmall).text, "it holds something else, not a process's timeline");
  put(file, offsetof(FileHeader, version) / 8, kVersion + 1);
  EXPECT_EQ(open(file, kSmall).text, "it is of version " + std::to_string(kVersion + 1) +
                                         " of the format, and this cuvmm reads " +
                                         std::to_string(kVersion));
  EXPECT_EQ(open(file, kSmall).kind, Kind::kForeign);
  put(file, 0, 0);
  EXPECT_EQ(open(file, kSmall).kind, Kind::kUnfinished);
  put(file, 0, 5);
  EXPECT_EQ(open(file, kSmall).kind, Kind::kForeign);
  EXPECT_EQ(open(path("none"), kSmall).text, std::strerror(ENOENT));
}

TEST_F(Files, ThoseOfAnEarlierCuvmmAreNamedAsThat) {
  for (const std::string_view magic : {"cuvmmRNG", "cuvmmLIV", "cummTIME"}) {
    std::ofstream(path("old"), std::ios::binary) << magic << std::string(2 << 20, '\1');
    for (const Shape& shape : kShapes) {
      const Refusal refusal = open(path("old"), shape);
      EXPECT_EQ(refusal.kind, Kind::kForeign);
      EXPECT_EQ(refusal.text, "an earlier cuvmm wrote it, in a format that this one does not read");
    }
  }
}

TEST_F(Files, PipesFoldersAndLinksAreNotTaken) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const std::string file = make("a");
  std::filesystem::create_symlink(file, path("link"));
  for (const Shape& shape : kShapes) {
    EXPECT_EQ(open(path("pipe"), shape).text, "it is no regular file");
    EXPECT_EQ(open(folder_, shape).text, "it is no regular file");
    EXPECT_EQ(open(path("link"), shape, Named::kByFolder).kind, Kind::kOther);
  }
  EXPECT_EQ(open(path("link"), kSmall, Named::kByPerson).text, "");
}

TEST_F(Files, ACutFileIsSaidToBeThat) {
  last_calls();
  timeline();
  holdings::Writer writer;
  holdings(writer);
  const std::string files[] = {path("1.ring"), path("1.live"), path("1.timeline")};
  for (std::size_t i = 0; i < std::size(files); ++i) {
    const Shape& shape = kShapes[i];
    EXPECT_EQ(read(shape, files[i]), "") << files[i];
    // The file is cut at its end, and then at ever shorter lengths from where its records are.
    std::filesystem::resize_file(files[i], shape.bytes - 1);
    EXPECT_NE(read(shape, files[i]).find("cut off"), std::string::npos);
    const std::size_t from = std::min<std::size_t>(shape.bytes, std::size_t{2} << 20) / 512 * 512;
    for (std::size_t bytes = from; bytes > 0; bytes -= 512) {
      std::filesystem::resize_file(files[i], bytes);
      ASSERT_NE(read(shape, files[i]).find(bytes == shape.bytes ? "" : "cut off"),
                std::string::npos)
          << files[i] << " of " << bytes;
    }
    std::filesystem::resize_file(files[i], 0);
    EXPECT_EQ(read(shape, files[i]), "it is empty");
  }
}

// Behind the words that identify the file, any bytes may stand: the reader reads nothing outside of
// the file.
TEST_F(Files, AnyBytesCanBeRead) {
  std::mt19937_64 random(42);
  last_calls();
  timeline();
  holdings::Writer writer;
  holdings(writer);
  const std::string files[] = {path("1.ring"), path("1.live"), path("1.timeline")};
  for (std::size_t i = 0; i < std::size(files); ++i) {
    const std::size_t words = std::min<std::size_t>(kShapes[i].bytes, std::size_t{2} << 20) / 8;
    for (int round = 0; round < 40; ++round) {
      // Most random words go to the first pages, which have headers and counts.
      for (int n = 0; n < 40; ++n) {
        const std::size_t word = 5 + random() % (n % 2 == 0 ? 507 : words - 5);
        put(files[i], word, n % 3 == 0 ? random() : n % 3 == 1 ? ~std::uint64_t{0} : random() % 16);
      }
      const std::string problem = read(kShapes[i], files[i]);
      EXPECT_TRUE(problem.empty() || problem == "its header is damaged") << problem;
    }
  }
}

}  // namespace
}  // namespace cuvmm::recorder
