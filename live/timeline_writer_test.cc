// SPDX-License-Identifier: Apache-2.0
#include "live/timeline_writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace cuvmm::live {
namespace {

TimelineEvent event_of(TimelineWhat what, TimelineObject object, std::uint64_t call,
                       std::uint64_t key, std::uint64_t size) {
  TimelineEvent event{};
  event.call = call;
  event.key = key;
  event.size = size;
  event.what = what;
  event.object = object;
  return event;
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
    writer_.add(event_of(TimelineWhat::kBegin, TimelineObject::kAllocation, call, key, size));
  }
  void end(std::uint64_t call, std::uint64_t key, std::uint64_t size) {
    writer_.add(event_of(TimelineWhat::kEnd, TimelineObject::kAllocation, call, key, size));
  }
  const TimelineHeader& header() const { return writer_.image()->header; }
  std::uint64_t bytes_now() const { return physical(writer_.sums()); }

  std::string path_;
  TimelineWriter writer_;
};

TEST_F(TimelineWriterTest, EventsAreKeptInOrderWithTheirSums) {
  begin(1, 0x10, 100);
  begin(2, 0x20, 50);
  end(3, 0x10, 100);
  EXPECT_EQ(header().events, 3u);
  EXPECT_EQ(writer_.image()->events[2].call, 3u);
  EXPECT_GE(writer_.image()->events[2].ticks, writer_.image()->events[0].ticks);
  EXPECT_EQ(bytes_now(), 50u);
  EXPECT_EQ(header().peak, 150u);
  EXPECT_EQ(header().peak_call, 2u);
}

TEST_F(TimelineWriterTest, WhatTheDriverRefusedIsCountedBack) {
  begin(1, 0x10, 100);
  end(2, 0x10, 100);
  EXPECT_EQ(bytes_now(), 0u);
  writer_.undo(2, 7);
  EXPECT_EQ(bytes_now(), 100u);
  EXPECT_EQ(writer_.image()->events[2].what, TimelineWhat::kUndone);
  EXPECT_EQ(writer_.image()->events[2].thread, 7u);
}

TEST_F(TimelineWriterTest, ALongRunKeepsItsStartItsEndAndItsSums) {
  constexpr std::uint64_t kMore = 1000;
  const std::uint64_t total = kFirstEvents + kLastEvents + kMore;
  std::uint64_t before = 0, after = 0;
  for (std::uint64_t call = 1; call <= total; ++call) {
    // One large piece in the middle, of which no event is left.
    const bool large = call == kFirstEvents + 10 || call == kFirstEvents + 11;
    const std::uint64_t size = large ? 1'000'000 : 10;
    if (call % 2 == 1) {
      begin(call, large ? 5 : 6, size);
    } else {
      end(call, large ? 5 : 6, large ? 10 : size);
    }
  }
  EXPECT_EQ(header().events, total);
  ASSERT_TRUE(writer_.gap(before, after));
  EXPECT_EQ(before, kFirstEvents);
  EXPECT_EQ(after, kFirstEvents + kMore + 1);
  EXPECT_EQ(writer_.image()->events[0].call, 1u);
  EXPECT_EQ(writer_.image()->events[timeline_place(total - 1)].call, total);
  writer_.finish();
  EXPECT_LE(header().samples, kSamples);
  EXPECT_GT(header().samples, kSamples / 4);
  EXPECT_GE(header().peak, 1'000'000u);
  std::uint64_t highest = 0;
  for (std::uint64_t i = 0; i < header().samples; ++i)
    highest = std::max(highest, writer_.image()->samples[i].peak);
  EXPECT_EQ(highest, header().peak);
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(static_cast<std::size_t>(status.st_size), sizeof(TimelineImage));
}

TEST_F(TimelineWriterTest, AChildLeavesTheFileAlone) {
  begin(1, 0x10, 100);
  writer_.leave();
  EXPECT_FALSE(writer_.is_open());
  begin(2, 0x20, 100);  // goes nowhere
  EXPECT_EQ(writer_.open(path_), EEXIST);
}

}  // namespace
}  // namespace cuvmm::live
