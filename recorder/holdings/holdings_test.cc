// SPDX-License-Identifier: Apache-2.0
// Tests what a process writes about the objects it holds, and what readers take from it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "api/posix/process_start.h"
#include "recorder/holdings/reader.h"
#include "recorder/holdings/writer.h"

namespace cuvmm::holdings {
namespace {

class Live : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "cuvmm-live-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name + ".live"; }

  std::string folder_;
};

Reservation reservation(Address base, Size size, Origin made) {
  Reservation r;
  r.base = base;
  r.size = size;
  r.made = made;
  return r;
}

Mapping mapping(Address base, Size size, Handle handle, Origin made = {}) {
  Mapping m;
  m.base = base;
  m.size = size;
  m.offset = handle;
  m.handle = handle;
  m.made = made;
  return m;
}

MemoryHeld memory(Handle handle, Size size, std::uint32_t mappings) {
  MemoryHeld held;
  held.allocation.handle = handle;
  held.allocation.size = size;
  held.allocation.references = 1;
  held.allocation.mappings = mappings;
  held.allocation.made = {handle, 1, 0};
  return held;
}

TEST_F(Live, ReadsWhatWasWritten) {
  Writer writer;
  ASSERT_EQ(writer.open(path("1"), "/usr/lib/libcuda.so.1"), 0);
  writer.put(reservation(0x1000000, 64, {3, 1, 0}));
  writer.put(mapping(0x1000000, 32, 7, {5, 1, 0}));
  writer.put(memory(7, 32, 1));
  writer.put(memory(8, 16, 0));
  writer.put(Descriptor{{.fd = 0, .handle = 7, .size = 32, .made = {6, 1, 0}}, 99});
  writer.put(Piece{0x5000, 100, Piece::Kind::kPool, 2, 77, {8, 1, 0}});
  const std::uintptr_t frames[] = {11, 12};
  const std::string file = "/a.py";
  const frames::PythonLine lines[] = {
      {9, false, 3, "f", file}, {7, true, 21, "main", file}, {kPythonLines, false, 1, "g", file}};
  writer.note_stack(1, frames, lines);
  writer.note_stack(2, frames, {});
  recorder::store(*writer.last_call(), 9);

  View view;
  ASSERT_EQ(view.open(path("1")), "");
  EXPECT_EQ(view.pid(), getpid());
  EXPECT_TRUE(view.alive());
  EXPECT_TRUE(view.current());
  EXPECT_EQ(view.driver(), "/usr/lib/libcuda.so.1");
  EXPECT_EQ(view.program(), std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_EQ(view.stack(1), (std::vector<std::uint64_t>{11, 12}));
  EXPECT_TRUE(view.stack(3).empty());
  const auto python = view.python(1);
  ASSERT_EQ(python.size(), 2u);
  EXPECT_EQ(python[0].function, "f");
  EXPECT_EQ(python[0].line, 3);
  EXPECT_FALSE(python[0].entry);
  EXPECT_EQ(python[1].number, 7u);
  EXPECT_EQ(python[1].file, file);
  EXPECT_TRUE(python[1].entry);
  EXPECT_TRUE(view.python(2).empty());
  const Snapshot now = view.snapshot();
  EXPECT_EQ(now.calls, 9u);
  ASSERT_EQ(now.reservations.size(), 1u);
  EXPECT_EQ(now.reservations[0].made.call, 3u);
  ASSERT_EQ(now.mappings.size(), 1u);
  EXPECT_EQ(now.mappings[0].handle, 7u);
  ASSERT_EQ(now.memory.size(), 2u);
  EXPECT_EQ(now.memory[1].allocation.size, 16u);
  ASSERT_EQ(now.descriptors.size(), 1u);
  EXPECT_EQ(now.descriptors[0].shared, 99u);
  ASSERT_EQ(now.pieces.size(), 1u);
  EXPECT_EQ(now.pieces[0].more, 77u);
  EXPECT_EQ(now.sums.reserved, 64u);
  EXPECT_EQ(now.sums.used, 32u);
  EXPECT_EQ(now.sums.unused, 16u);
  EXPECT_EQ(now.sums.exports, 1u);
  EXPECT_EQ(now.sums.pool_bytes, 100u);
}

TEST_F(Live, SumsFollowEachChange) {
  Writer writer;
  ASSERT_EQ(writer.open(path("1"), ""), 0);
  View view;
  ASSERT_EQ(view.open(path("1")), "");
  writer.put(memory(7, 32, 0));
  EXPECT_EQ(view.sums().unused, 32u);
  writer.put(memory(7, 32, 1));
  EXPECT_EQ(view.sums().unused, 0u);
  EXPECT_EQ(view.sums().used, 32u);
  EXPECT_EQ(view.sums().allocations, 1u);
  writer.drop_memory(7);
  writer.drop_memory(7);
  writer.drop_memory(8);
  EXPECT_EQ(view.sums().used, 0u);
  EXPECT_EQ(view.sums().allocations, 0u);
  EXPECT_TRUE(view.snapshot().memory.empty());
}

TEST_F(Live, AChangeReachesReadersAndSums) {
  Writer writer;
  ASSERT_EQ(writer.open(path("1"), "libcuda"), 0);
  View view;
  ASSERT_EQ(view.open(path("1")), "");
  Reservation r = reservation(0x1000000, 64, {3, 1, 0});
  Mapping m = mapping(0x1000000, 32, 7, {5, 1, 0});
  MemoryHeld held = memory(7, 32, 0);
  held.shared = 77;
  EXPECT_FALSE(writer.change(r));
  EXPECT_FALSE(writer.change(m));
  EXPECT_FALSE(writer.change(held.allocation));
  writer.put(r);
  writer.put(m);
  writer.put(held);
  EXPECT_EQ(view.sums().unused, 32u);

  r.mapped = true;
  r.unmapped = {8, 2, 4};
  m.access = {5, 1};
  held.allocation.mappings = 2;
  held.allocation.retained = {9, 3, 4};
  EXPECT_TRUE(writer.change(r));
  EXPECT_TRUE(writer.change(m));
  EXPECT_TRUE(writer.change(held.allocation));
  const Snapshot all = view.snapshot();
  EXPECT_TRUE(all.reservations[0].mapped);
  EXPECT_EQ(all.reservations[0].unmapped.call, 8u);
  EXPECT_EQ(all.reservations[0].size, 64u);
  EXPECT_EQ(all.mappings[0].access.read, 5u);
  EXPECT_EQ(all.mappings[0].access.write, 1u);
  EXPECT_EQ(all.mappings[0].made.call, 5u);
  EXPECT_EQ(all.memory[0].allocation.mappings, 2u);
  EXPECT_EQ(all.memory[0].allocation.retained.call, 9u);
  EXPECT_EQ(all.memory[0].allocation.size, 32u);
  EXPECT_EQ(all.memory[0].shared, 77u);
  EXPECT_EQ(all.sums.used, 32u);
  EXPECT_EQ(all.sums.unused, 0u);

  // change() refuses other memory with that handle, and an import whose size was unknown; put()
  // writes both.
  held.allocation.made.call = 11;
  EXPECT_FALSE(writer.change(held.allocation));
  writer.put(held);
  held.allocation.mappings = 0;
  EXPECT_TRUE(writer.change(held.allocation));
  EXPECT_EQ(view.sums().used, 0u);
  EXPECT_EQ(view.sums().unused, 32u);
  held.allocation.size = 64;
  EXPECT_FALSE(writer.change(held.allocation));
  writer.drop_memory(7);
  EXPECT_EQ(view.sums().unused, 0u);
  EXPECT_FALSE(writer.change(held.allocation));
}

TEST_F(Live, SlotsAreUsedAgain) {
  Writer writer;
  ASSERT_EQ(writer.open(path("1"), ""), 0);
  for (std::uint64_t i = 1; i <= 100000; ++i) {
    writer.put(mapping(i << 21, 1, i));
    if (i > 10) writer.drop_mapping((i - 10) << 21);
  }
  View view;
  ASSERT_EQ(view.open(path("1")), "");
  const Snapshot now = view.snapshot();
  ASSERT_EQ(now.mappings.size(), 10u);
  EXPECT_EQ(now.mappings[0].base, std::uint64_t{99991} << 21);
  // The file takes a page or two, not the space of a hundred thousand objects.
  EXPECT_LT(std::filesystem::file_size(path("1")), sizeof(Image) + 1);
  struct stat status {};
  ASSERT_EQ(stat(path("1").c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 1 << 20);
}

TEST_F(Live, WhatFindsNoRoomIsCounted) {
  Writer writer;
  ASSERT_EQ(writer.open(path("1"), ""), 0);
  const int more = 10;
  for (int fd = 0; fd < static_cast<int>(kExports) + more; ++fd) {
    writer.put(Descriptor{{.fd = fd, .handle = 1, .size = 1, .made = {}}, 0});
  }
  View view;
  ASSERT_EQ(view.open(path("1")), "");
  EXPECT_EQ(view.sums().missed, static_cast<std::uint64_t>(more));
  EXPECT_EQ(view.snapshot().descriptors.size(), kExports);
  writer.drop_descriptor(3);
  writer.put(Descriptor{{.fd = 70000, .handle = 1, .size = 1, .made = {}}, 0});
  EXPECT_EQ(view.snapshot().descriptors.size(), kExports);
}

// The writer does not ask a full file system again for each object.
TEST_F(Live, AFileThatCannotGrowIsRarelyAsked) {
  Writer writer;
  ASSERT_EQ(writer.open(path("1"), ""), 0);
  // Another file has the name now, so the writer must not grow it.
  std::filesystem::remove(path("1"));
  std::ofstream(path("1")) << "another";
  const int watcher = ::inotify_init1(IN_NONBLOCK);
  // The test watches both events, because inotify merges equal events in a row.
  ASSERT_GE(::inotify_add_watch(watcher, path("1").c_str(), IN_OPEN | IN_CLOSE), 0);
  for (Address base = 1; base <= 4096; ++base) writer.put(reservation(base << 21, 1, {}));
  int looked = 0;
  inotify_event event{};
  while (::read(watcher, &event, sizeof event) == sizeof event) ++looked;
  ::close(watcher);
  EXPECT_GE(looked, 2);
  EXPECT_LE(looked, 32);
}

// A reader that took halves of two states would show an object that never existed.
TEST_F(Live, ReadersSeeWholeObjectsWhileTheyChange) {
  Writer writer;
  ASSERT_EQ(writer.open(path("1"), ""), 0);
  View view;
  ASSERT_EQ(view.open(path("1")), "");
  std::atomic<bool> done{false};
  std::thread changes([&] {
    for (std::uint64_t i = 1; !done.load(); ++i) {
      writer.put(mapping(4096, i, i));
      if (i % 7 == 0) writer.drop_mapping(4096);
    }
  });
  for (int i = 0; i < 20000; ++i) {
    for (const Mapping& m : view.snapshot().mappings) {
      ASSERT_EQ(m.size, m.offset);
      ASSERT_EQ(m.size, m.handle);
    }
  }
  done.store(true);
  changes.join();
}

TEST_F(Live, FilesOfDeadProcessesAreRemoved) {
  const pid_t child = fork();
  if (child == 0) {
    auto* const writer = new Writer;
    _exit(writer->open(path("dead"), "") == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(std::filesystem::exists(path("dead")));
  Writer mine;
  ASSERT_EQ(mine.open(path("mine"), ""), 0);
  std::ofstream(path("nonsense")) << "nonsense";
  std::ofstream(folder_ + "/other.txt") << "of another program";
  std::vector<std::string> problems;
  const std::vector<View> views = open_all(folder_, problems);
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].pid(), getpid());
  EXPECT_FALSE(std::filesystem::exists(path("dead")));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("nonsense.live"), std::string::npos);
}

TEST_F(Live, OfAProcessThatBecameAnotherProgramTheNewestIsShown) {
  Writer earlier, now;
  ASSERT_EQ(earlier.open(path("7-1.000000009"), ""), 0);
  ASSERT_EQ(now.open(path("7-1.000000010"), ""), 0);
  std::vector<std::string> problems;
  const std::vector<View> views = open_all(folder_, problems);
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].path(), path("7-1.000000010"));
  EXPECT_FALSE(std::filesystem::exists(path("7-1.000000009"))) << "no `cuvmm run` judges it";
}

TEST_F(Live, StrangeFilesAreOneProblem) {
  for (const char* name : {"a", "b", "c"}) std::ofstream(path(name)) << "of an older version";
  std::vector<std::string> problems;
  EXPECT_TRUE(open_all(folder_, problems).empty());
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("; so are 2 more"), std::string::npos) << problems[0];
}

// In two containers with one /dev/shm, neither can know whether the other's process lives.
TEST_F(Live, FilesOfAnotherPidNamespaceStayUnseen) {
  const std::string file = path("theirs");
  {
    const pid_t child = fork();
    if (child == 0) _exit((new Writer)->open(file, "") == 0 ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  std::fstream image(file, std::ios::binary | std::ios::in | std::ios::out);
  std::uint64_t theirs = pid_namespace() + 1;
  image.seekp(offsetof(recorder::FileHeader, pid_namespace));
  image.write(reinterpret_cast<const char*>(&theirs), sizeof theirs).flush();
  std::vector<std::string> problems;
  EXPECT_TRUE(open_all(folder_, problems).empty());
  EXPECT_TRUE(problems.empty());
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(Live, ASecondFileOfTheNameIsRefused) {
  Writer first, second;
  ASSERT_EQ(first.open(path("1"), ""), 0);
  EXPECT_EQ(second.open(path("1"), ""), EEXIST);
  EXPECT_EQ(second.open("/nowhere/at/all.live", ""), ENOENT);
  second.put(mapping(1, 1, 1));  // an image without a file shows nothing, and put() is harmless
}

}  // namespace
}  // namespace cuvmm::holdings
