// SPDX-License-Identifier: Apache-2.0
#include "recorder/timeline/writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "api/posix/image_name.h"

namespace cuvmm::timeline {
namespace {

void add(Writer& writer, What what, std::uint64_t call, std::uint64_t key, std::uint64_t size) {
  writer.add(what, Object::kAllocation, 3, {key, size, 8, 9}, {call, 5, 6}, 100 + call);
}

class TimelineWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "cuvmm-timeline-" + std::to_string(::getpid()) + ".timeline";
    ::unlink(path_.c_str());
    ASSERT_EQ(writer_.open(path_), 0);
  }
  void TearDown() override { ::unlink(path_.c_str()); }
  void begin(std::uint64_t call, std::uint64_t key, std::uint64_t size) {
    add(writer_, What::kBegin, call, key, size);
  }
  void end(std::uint64_t call, std::uint64_t key, std::uint64_t size) {
    add(writer_, What::kEnd, call, key, size);
  }
  const Header& header() const { return writer_.image()->header; }
  const Count& counted() const { return header().counts[header().newest]; }
  std::uint64_t bytes_now() {
    writer_.finish();
    return physical(counted().sums);
  }

  std::string path_;
  Writer writer_;
};

TEST_F(TimelineWriterTest, EventsAreKeptInOrderWithTheirSums) {
  begin(1, 0x10, 100);
  begin(2, 0x20, 50);
  end(3, 0x10, 100);
  EXPECT_EQ(writer_.events(), 3u);
  EXPECT_EQ(count_events(writer_.image()->events, counted().events), 3u);
  EXPECT_EQ(writer_.image()->events[2].by.call, 3u);
  const Event& event = writer_.image()->events[1];
  EXPECT_EQ(event.ticks, 102u);
  EXPECT_EQ(event.by.stack, 5u);
  EXPECT_EQ(event.by.thread, 6u);
  EXPECT_EQ(event.key, 0x20u);
  EXPECT_EQ(event.size, 50u);
  EXPECT_EQ(event.more, 8u);
  EXPECT_EQ(event.other, 9u);
  EXPECT_EQ(event.what, What::kBegin);
  EXPECT_EQ(event.object, Object::kAllocation);
  EXPECT_EQ(event.device, 3);
  EXPECT_EQ(bytes_now(), 50u);
  EXPECT_EQ(counted().events, 3u);
  EXPECT_EQ(counted().peak, 150u);
  EXPECT_EQ(counted().peak_call, 2u);
  EXPECT_EQ(counted().peak_ticks, writer_.image()->events[1].ticks);
}

TEST_F(TimelineWriterTest, WhatTheDriverRefusedIsCountedBack) {
  begin(1, 0x10, 100);
  end(2, 0x10, 100);
  EXPECT_EQ(bytes_now(), 0u);
  writer_.undo(2, 7, 102);
  EXPECT_EQ(bytes_now(), 100u);
  EXPECT_EQ(writer_.image()->events[2].what, What::kUndone);
  EXPECT_EQ(writer_.image()->events[2].by.thread, 7u);
}

TEST_F(TimelineWriterTest, ALongRunKeepsItsStartItsEndAndItsSums) {
  constexpr std::uint64_t kMore = 1000;
  const std::uint64_t total = kFirstEvents + kLastEvents + kMore;
  std::uint64_t before = 0, after = 0;
  for (std::uint64_t call = 1; call <= total; ++call) {
    // One large piece lives in the middle of the run. The file keeps none of its events.
    const bool large = call == kFirstEvents + 10 || call == kFirstEvents + 11;
    const std::uint64_t size = large ? 1'000'000 : 10;
    if (call % 2 == 1) {
      begin(call, large ? 5 : 6, size);
    } else {
      end(call, large ? 5 : 6, large ? 10 : size);
    }
  }
  EXPECT_EQ(writer_.events(), total);
  EXPECT_EQ(count_events(writer_.image()->events, counted().events), total);
  ASSERT_TRUE(writer_.gap(before, after));
  EXPECT_EQ(before, kFirstEvents);
  EXPECT_EQ(after, kFirstEvents + kMore + 1);
  EXPECT_EQ(writer_.image()->events[0].by.call, 1u);
  EXPECT_EQ(writer_.image()->events[place_of(total - 1)].by.call, total);
  writer_.finish();
  EXPECT_LE(header().samples, kSamples);
  EXPECT_GT(header().samples, kSamples / 4);
  EXPECT_GE(counted().peak, 1'000'000u);
  std::uint64_t highest = 0;
  for (std::uint64_t i = 0; i < header().samples; ++i)
    highest = std::max(highest, writer_.image()->samples[i].peak);
  EXPECT_EQ(highest, counted().peak);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(static_cast<std::size_t>(status.st_size), sizeof(Image));
}

TEST_F(TimelineWriterTest, OfAKilledProcessNoEventIsMissing) {
  auto image = std::make_unique<Image>();
  constexpr std::uint64_t kWrap = kFirstEvents + kLastEvents;
  for (const std::uint64_t total :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, kMostUncounted - 1, kMostUncounted,
        5 * kMostUncounted + 7, kFirstEvents + 5, kWrap, kWrap + 9}) {
    writer_.leave();
    ::unlink(path_.c_str());
    const pid_t child = ::fork();
    if (child == 0) {
      if (writer_.open(path_) != 0) ::_exit(1);
      for (std::uint64_t call = 1; call <= total; ++call) begin(call, call, 10);
      ::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    std::ifstream(path_).read(reinterpret_cast<char*>(image.get()), sizeof *image);
    Count count = image->header.counts[image->header.newest];
    ASSERT_EQ(count_events(image->events, count.events), total);
    while (count.events < total) timeline::count(count, image->events[place_of(count.events)]);
    EXPECT_EQ(count.peak, total * 10);
    if (total > 0) {
      EXPECT_EQ(image->events[place_of(total - 1)].by.call, total);
    }
  }
}

TEST_F(TimelineWriterTest, AUseHasNoBytesOfItsOwn) {
  begin(1, 0x10, 100);
  const std::uint64_t word = use_word(std::uint64_t{1} << 47, 65535);
  writer_.add(What::kBegin, Object::kBinding, 0, {0x30, 100, word, 0x10}, {2, 5, 6}, 102);
  writer_.add(What::kBegin, Object::kSparse, 0, {0x40, 100, word, 0x10}, {3, 5, 6}, 103);
  EXPECT_EQ(bytes_now(), 100u);
  EXPECT_EQ(counted().peak, 100u);
  for (const std::uint64_t sum : counted().sums.objects) EXPECT_LE(sum, 100u);
  const Event& event = writer_.image()->events[2];
  EXPECT_EQ(event.object, Object::kSparse);
  EXPECT_EQ(use_number(event.more), 65535u);
  EXPECT_EQ(use_word(event.more, 0), std::uint64_t{1} << 47);
}

TEST_F(TimelineWriterTest, AnEventThatIsNotWholeDoesNotCount) {
  begin(1, 0x10, 100);
  begin(2, 0x20, 100);
  std::vector<Event> events(writer_.image()->events, writer_.image()->events + 2 * kMostUncounted);
  EXPECT_EQ(count_events(events.data(), 0), 2u);
  events[1].round = 0;
  EXPECT_EQ(count_events(events.data(), 0), 1u);
}

TEST_F(TimelineWriterTest, AChildLeavesTheFileAlone) {
  begin(1, 0x10, 100);
  writer_.leave();
  EXPECT_FALSE(writer_.is_open());
  begin(2, 0x20, 100);  // this event is dropped
  EXPECT_EQ(writer_.open(path_), EEXIST);
}

TEST(TimelineWriterFolder, TheFirstEventMakesAFileAndIsInIt) {
  const std::string folder = ::testing::TempDir() + "cuvmm-timelines-" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder), {}); };
  {
    Writer writer;
    EXPECT_FALSE(writer.on());
    writer.choose(folder);
    EXPECT_TRUE(writer.on());
    EXPECT_EQ(files(), 0);
    add(writer, What::kBegin, 7, 0x10, 100);
    EXPECT_EQ(files(), 1);
    ASSERT_TRUE(writer.is_open());
    EXPECT_EQ(writer.events(), 1u);
    EXPECT_EQ(writer.image()->events[0].by.call, 7u);
    EXPECT_EQ(writer.image()->events[0].round, 1u);
    EXPECT_EQ(writer.image()->events[0].ticks, 107u);

    start_image();
    writer.restart_in_child();
    EXPECT_TRUE(writer.on());
    EXPECT_FALSE(writer.is_open());
    EXPECT_EQ(writer.events(), 0u);
    add(writer, What::kBegin, 1, 0x10, 100);
    EXPECT_EQ(files(), 2);
    EXPECT_EQ(writer.image()->events[0].by.call, 1u);

    writer.choose("");
    EXPECT_FALSE(writer.on());
  }
  std::filesystem::remove_all(folder);
}

TEST(TimelineWriterFolder, WhereNoFileCanBeNothingIsKept) {
  Writer writer;
  writer.choose("/nonexistent/folder");
  add(writer, What::kBegin, 1, 0x10, 100);
  EXPECT_FALSE(writer.on());
  EXPECT_FALSE(writer.is_open());
}

}  // namespace
}  // namespace cuvmm::timeline
