// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/timeline.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include "tools/command_line/usage.h"
#include "tools/timeline/memory_use.h"
#include "tools/timeline/moments.h"
#include "tools/timeline/timeline_file.h"

namespace cuvmm::tools {
namespace {

using TimelineEvent = timeline::Event;
using TimelineObject = timeline::Object;
using TimelineWhat = timeline::What;

struct Recording {
  timeline::Header header{};
  timeline::Count count{};
  std::vector<TimelineEvent> events;

  Recording() {
    header.file.pid = 42;
    header.file.first = {1000, 0, 5'000'000};
    header.file.last = {3000, 0, 5'001'000};  // 2 ticks are 1 ns
  }
  TimelineEvent& add(TimelineWhat what, TimelineObject object, std::uint64_t call,
                     std::uint64_t key, std::uint64_t size, std::uint64_t other = 0) {
    TimelineEvent event{};
    event.ticks = 1000 + call * 20;
    event.by.call = call;
    event.key = key;
    event.size = size;
    event.other = other;
    event.what = what;
    event.object = object;
    event.device = 1;
    events.push_back(event);
    count.events = events.size();
    return events.back();
  }
  ProcessTimeline read() const { return timeline_of(header, count, events, {}); }
};

TEST(Timeline, BeginsAndEndsArePaired) {
  Recording run;
  run.add(TimelineWhat::kBegin, TimelineObject::kAllocation, 1, 0x7, 4096).by.stack = 3;
  run.add(TimelineWhat::kBegin, TimelineObject::kMapping, 2, 0x1000, 4096, 0x7);
  run.add(TimelineWhat::kEnd, TimelineObject::kMapping, 3, 0x1000, 4096, 2).by.stack = 9;
  const ProcessTimeline timeline = run.read();
  ASSERT_EQ(timeline.lives.size(), 2u);
  const Life &memory = timeline.lives[0], &mapping = timeline.lives[1];
  EXPECT_TRUE(memory.alive());
  EXPECT_EQ(memory.begin_ns, 10);
  EXPECT_EQ(memory.stack, 3u);
  EXPECT_EQ(mapping.handle, 0x7u);
  EXPECT_EQ(mapping.end_ns, 30);
  EXPECT_EQ(mapping.end_call, 3u);
  EXPECT_EQ(mapping.end_stack, 9u);
  EXPECT_EQ(timeline.end_ns, 1000);
  EXPECT_EQ(Moments(timeline).device_of(mapping), 1);
}

// Two threads make calls. The second thread's call began earlier, and got the address that the
// first thread's call gave up.
TEST(Timeline, NoTwoObjectsHaveOneAddressAtOnce) {
  Recording run;
  run.add(TimelineWhat::kBegin, TimelineObject::kReservation, 1, 0x1000, 4096);
  run.add(TimelineWhat::kEnd, TimelineObject::kReservation, 4, 0x1000, 4096, 1);
  run.add(TimelineWhat::kBegin, TimelineObject::kReservation, 3, 0x1000, 4096);
  run.add(TimelineWhat::kAccess, TimelineObject::kMapping, 5, 0x1000, 4096);
  run.add(TimelineWhat::kBegin, TimelineObject::kAllocation, 2, 0x7, 100);
  run.count.peak_call = 2;
  run.count.peak_ticks = run.events.back().ticks;
  const ProcessTimeline timeline = run.read();
  ASSERT_EQ(timeline.lives.size(), 3u);
  EXPECT_EQ(timeline.lives[0].end_ns, 40);
  EXPECT_EQ(timeline.lives[1].begin_ns, 40);
  EXPECT_EQ(timeline.lives[2].begin_ns, 50);
  EXPECT_EQ(timeline.peak_ns, 50);
  for (std::size_t i = 1; i < timeline.samples.size(); ++i) {
    EXPECT_GE(timeline.samples[i].ns, timeline.samples[i - 1].ns);
  }
  EXPECT_EQ(timeline.samples.back().ns, 50);
}

TEST(Timeline, UsesOfOneCallArePairedByTheirNumbers) {
  Recording run;
  for (const std::uint64_t number : {0u, 1u, 2u}) {
    TimelineEvent& begin =
        run.add(TimelineWhat::kBegin, TimelineObject::kSparse, 1, 0x7000, 0, 0x100 + number);
    begin.more = timeline::use_word(number << 16, number);
  }
  TimelineEvent& end = run.add(TimelineWhat::kEnd, TimelineObject::kSparse, 2, 0x7000, 0, 1);
  end.more = timeline::use_word(9, 1);
  // The recording lacks the begin of this use.
  run.add(TimelineWhat::kEnd, TimelineObject::kSparse, 3, 0x7000, 0, 1).more =
      timeline::use_word(8, 7);
  const ProcessTimeline timeline = run.read();
  ASSERT_EQ(timeline.lives.size(), 4u);
  const Life& late = timeline.lives[0];
  EXPECT_EQ(late.begin_ns, Life::kUnknown);
  EXPECT_EQ(late.stack, 8u);
  EXPECT_EQ(late.end_call, 3u);
  for (const std::size_t i : {0u, 1u, 2u}) {
    const Life& life = timeline.lives[i + 1];
    EXPECT_EQ(life.value, 0x7000u);
    EXPECT_EQ(life.handle, 0x100u + i);
    EXPECT_EQ(life.offset, i << 16);
    EXPECT_EQ(life.end_call, i == 1 ? 2u : 0u) << i;
  }
}

TEST(Timeline, AUseWhoseBeginIsGoneShowsWhatIsSaidBehindIt) {
  Recording run;
  run.add(TimelineWhat::kBegin, TimelineObject::kReservation, 1, 0x7000, 4096);
  // Without a use before it, kShows means nothing.
  run.add(TimelineWhat::kShows, TimelineObject::kSparse, 0, 0x7000, 0, 0x99);
  run.add(TimelineWhat::kAlive, TimelineObject::kSparse, 0, 0x7000, 65536, 6).more =
      timeline::use_word(4, 3);
  run.add(TimelineWhat::kShows, TimelineObject::kSparse, 0, 0x7000, 65536, 0x100).more =
      timeline::use_word(8192, 3);
  run.add(TimelineWhat::kAlive, TimelineObject::kBinding, 0, 0xa, 4096, 5).more = 4;
  // The use before it is of another object.
  run.add(TimelineWhat::kShows, TimelineObject::kBinding, 0, 0xb, 4096, 0x98);
  const ProcessTimeline timeline = run.read();
  ASSERT_EQ(timeline.lives.size(), 3u);
  for (const Life& life : timeline.lives) {
    const bool region = life.kind == TimelineObject::kSparse;
    EXPECT_TRUE(life.alive());
    EXPECT_EQ(life.handle, region ? 0x100u : 0u);
    EXPECT_EQ(life.offset, region ? 8192u : 0u);
  }
}

TEST(Timeline, AUseWhoseBeginIsGoneLives) {
  Recording run;
  run.add(TimelineWhat::kAlive, TimelineObject::kBinding, 0, 0xa, 4096, 5).more = 4;
  run.add(TimelineWhat::kAlive, TimelineObject::kSparse, 0, 0x7000, 0, 6).more =
      timeline::use_word(4, 3);
  const ProcessTimeline timeline = run.read();
  ASSERT_EQ(timeline.lives.size(), 2u);
  for (const Life& life : timeline.lives) {
    EXPECT_TRUE(life.alive());
    EXPECT_EQ(life.stack, 4u);
    EXPECT_EQ(life.handle, 0u);
    EXPECT_EQ(life.offset, 0u);
  }
  EXPECT_EQ(timeline.lives[0].begin_call, 5u);
  EXPECT_EQ(timeline.lives[1].begin_call, 6u);
}

TEST(Timeline, ABindingEndsWithItsMemoryAtTheLatest) {
  Recording run;
  run.add(TimelineWhat::kBegin, TimelineObject::kAllocation, 1, 0x7, 4096);
  run.add(TimelineWhat::kBegin, TimelineObject::kBinding, 2, 0xa, 4096, 0x7).more = 8192;
  run.add(TimelineWhat::kBegin, TimelineObject::kBinding, 3, 0xb, 4096, 0x7);
  run.add(TimelineWhat::kBegin, TimelineObject::kBinding, 4, 0xb, 4096, 0x8);
  run.add(TimelineWhat::kEnd, TimelineObject::kBinding, 5, 0xa, 4096, 2);
  run.add(TimelineWhat::kEnd, TimelineObject::kAllocation, 6, 0x7, 4096, 1);
  // The end of an import writes both ends.
  run.add(TimelineWhat::kEnd, TimelineObject::kBinding, 6, 0xb, 4096, 3);
  const ProcessTimeline timeline = run.read();
  ASSERT_EQ(timeline.lives.size(), 4u);
  EXPECT_EQ(timeline.lives[1].offset, 8192u);
  EXPECT_EQ(timeline.lives[1].end_call, 5u);
  EXPECT_EQ(timeline.lives[2].end_call, 6u);
  EXPECT_TRUE(timeline.lives[3].alive());
  const Json report = {{"timeline", timeline_json({timeline})}};
  EXPECT_EQ(timeline_json(timelines_of(report)), report["timeline"]);
}

TEST(Timeline, WhatTheDriverKeptBoundStaysBound) {
  Recording run;
  run.add(TimelineWhat::kBegin, TimelineObject::kAllocation, 1, 0x7, 4096);
  run.add(TimelineWhat::kBegin, TimelineObject::kBinding, 2, 0xa, 4096, 0x7);
  run.add(TimelineWhat::kEnd, TimelineObject::kBinding, 3, 0xa, 4096, 2);
  run.add(TimelineWhat::kUndone, TimelineObject::kReservation, 3, 0, 0);
  EXPECT_TRUE(run.read().lives.at(1).alive());
}

TEST(Timeline, MemoryThatIsOnlyBoundIsInUse) {
  Recording run;
  for (const std::uint64_t handle : {1u, 2u, 3u, 4u})
    run.add(TimelineWhat::kBegin, TimelineObject::kAllocation, handle, handle, 1u << handle);
  run.add(TimelineWhat::kBegin, TimelineObject::kMapping, 5, 0x1000, 2, 1);
  run.add(TimelineWhat::kBegin, TimelineObject::kBinding, 6, 0xa, 2, 1);
  run.add(TimelineWhat::kBegin, TimelineObject::kBinding, 7, 0xa, 4, 2);
  run.add(TimelineWhat::kBegin, TimelineObject::kSparse, 8, 0x7000, 0, 3);
  run.add(TimelineWhat::kEnd, TimelineObject::kBinding, 9, 0xa, 4, 7);
  std::vector<ProcessTimeline> timelines = {run.read()};
  const auto use_at = [&](std::int64_t ns) {
    return memory_use_at(timelines, {.peak = false, .ns = ns}).value();
  };
  const MemoryUse before = use_at(85), after = use_at(95);
  EXPECT_EQ(before.mapped, 2u);
  EXPECT_EQ(before.bound, 4u);
  EXPECT_EQ(before.sparse, 8u);
  EXPECT_EQ(before.idle, 16u);
  EXPECT_EQ(after.bound, 0u);
  EXPECT_EQ(after.idle, 20u);
  EXPECT_EQ(after.all(), 30u);
  // An object made at this moment counts by its later use.
  EXPECT_EQ(use_at(30).sparse, 8u);
  EXPECT_EQ(use_at(30).idle, 6u);
  EXPECT_EQ(use_at(29).all(), 6u);
  timelines[0].left_out = 1;
  EXPECT_FALSE(memory_use_at(timelines, {}).has_value());
}

TEST(Timeline, AnAddressThatIsUsedAgainIsAnotherLife) {
  Recording run;
  run.add(TimelineWhat::kBegin, TimelineObject::kReservation, 1, 0x1000, 4096);
  run.add(TimelineWhat::kEnd, TimelineObject::kReservation, 2, 0x1000, 4096, 1);
  run.add(TimelineWhat::kBegin, TimelineObject::kReservation, 3, 0x1000, 8192);
  const ProcessTimeline timeline = run.read();
  ASSERT_EQ(timeline.lives.size(), 2u);
  EXPECT_EQ(timeline.lives[0].end_call, 2u);
  EXPECT_TRUE(timeline.lives[1].alive());
}

TEST(Timeline, WhatTheDriverRefusedDidNotHappen) {
  Recording run;
  run.add(TimelineWhat::kBegin, TimelineObject::kReservation, 1, 0x1000, 4096);
  run.add(TimelineWhat::kEnd, TimelineObject::kReservation, 2, 0x1000, 4096, 1);
  run.add(TimelineWhat::kUndone, TimelineObject::kReservation, 2, 0, 0);
  const ProcessTimeline timeline = run.read();
  ASSERT_EQ(timeline.lives.size(), 1u);
  EXPECT_TRUE(timeline.lives[0].alive());
}

TEST(Timeline, SumsAreToldFromTheFirstEvents) {
  Recording run;
  run.add(TimelineWhat::kBegin, TimelineObject::kAllocation, 1, 0x7, 4096);
  run.add(TimelineWhat::kBegin, TimelineObject::kAllocation, 2, 0x8, 8192);
  run.add(TimelineWhat::kBegin, TimelineObject::kMulticast, 3, 0xa, 1 << 20);
  run.add(TimelineWhat::kEnd, TimelineObject::kAllocation, 4, 0x7, 4096, 1);
  run.add(TimelineWhat::kEnd, TimelineObject::kAllocation, 5, 0x8, 8192, 2);
  run.add(TimelineWhat::kUndone, TimelineObject::kReservation, 5, 0, 0);
  const ProcessTimeline timeline = run.read();
  ASSERT_EQ(timeline.samples.size(), 6u);
  EXPECT_EQ(timeline.samples[1].peak, 12288u);
  EXPECT_EQ(timeline.samples[3].peak, 12288u);
  EXPECT_EQ(timeline.samples[5].peak, 8192u);
  EXPECT_EQ(timeline::physical(timeline.samples[5].sums), 8192u);
  EXPECT_EQ(timeline.samples[3].call, 4u);
}

TEST(Timeline, AReportOfAnOlderCuvmmHasFewerKinds) {
  Recording run;
  run.add(TimelineWhat::kBegin, TimelineObject::kAllocation, 1, 0x7, 4096);
  Json report = {{"timeline", timeline_json({run.read()})}};
  Json& row = report["timeline"]["processes"][0]["samples"][0];
  row.erase(row.size() - 1);
  row.erase(row.size() - 1);
  const std::vector<ProcessTimeline> read = timelines_of(report);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(timeline::physical(read[0].samples.at(0).sums), 4096u);
  row.push_back(0);
  row.push_back(0);
  row.push_back(0);
  EXPECT_THROW(timelines_of(report), UsageError);
}

TEST(Timeline, AnEndWhoseBeginIsGoneIsALifeOfItsOwn) {
  Recording run;
  run.add(TimelineWhat::kBegin, TimelineObject::kAllocation, 1, 0x7, 4096);
  run.add(TimelineWhat::kEnd, TimelineObject::kAllocation, 9, 0x7, 8192, 5).more = 4;
  const ProcessTimeline timeline = run.read();
  ASSERT_EQ(timeline.lives.size(), 2u);
  const Life& late = timeline.lives[0];
  EXPECT_EQ(late.begin_ns, Life::kUnknown);
  EXPECT_EQ(late.begin_call, 5u);
  EXPECT_EQ(late.stack, 4u);
  EXPECT_EQ(late.end_call, 9u);
}

TEST(Timeline, TheShortestLivesAreLeftOutAndCounted) {
  ProcessTimeline timeline;
  for (std::int64_t length = 1; length <= 10; ++length) {
    Life life;
    life.begin_ns = 0;
    life.end_ns = length;
    life.end_call = 1;
    timeline.lives.push_back(life);
  }
  timeline.lives.push_back(Life{});  // a life without an end
  coarsen(timeline, 4);
  ASSERT_EQ(timeline.lives.size(), 4u);
  EXPECT_EQ(timeline.left_out, 7u);
  EXPECT_EQ(timeline.lives[0].end_ns, 8);
  EXPECT_TRUE(timeline.lives[3].alive());
}

TEST(Timeline, EqualLivesAreLeftOutAsWell) {
  ProcessTimeline timeline;
  timeline.lives.resize(10);
  for (Life& life : timeline.lives) life.end_call = 1, life.begin_ns = 0, life.end_ns = 5;
  coarsen(timeline, 3);
  EXPECT_EQ(timeline.lives.size(), 3u);
  EXPECT_EQ(timeline.left_out, 7u);
}

TEST(Timeline, JsonHasAllOfIt) {
  Recording run;
  run.add(TimelineWhat::kBegin, TimelineObject::kAllocation, 1, ~std::uint64_t{0}, 4096);
  TimelineEvent& access =
      run.add(TimelineWhat::kAccess, TimelineObject::kMapping, 2, 0x1000, 4096, 3);
  access.more = CU_MEM_LOCATION_TYPE_DEVICE | std::uint64_t{3} << 32;
  ProcessTimeline before = run.read();
  before.dropped = 5;
  before.stacks["3"] = Json::array();
  const Json report = {{"timeline", timeline_json({before})}};
  const std::vector<ProcessTimeline> all = timelines_of(report);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].pid, 42);
  EXPECT_EQ(all[0].dropped, 5u);
  ASSERT_EQ(all[0].lives.size(), 1u);
  EXPECT_EQ(all[0].lives[0].value, ~std::uint64_t{0});
  EXPECT_EQ(all[0].lives[0].end_ns, Life::kUnknown);
  ASSERT_EQ(all[0].access.size(), 1u);
  EXPECT_EQ(all[0].access[0].location, "device3");
  EXPECT_EQ(timeline_json(all), report["timeline"]);
}

TEST(Timeline, AnythingElseIsRefused) {
  EXPECT_TRUE(timelines_of(Json::object()).empty());
  const Json good = timeline_json({Recording().read()});
  for (const char* const key : {"pid", "start_ns", "end_ns", "events", "peak", "objects"}) {
    Json bad = good;
    bad["processes"][0][key] = "no";
    EXPECT_THROW(timelines_of({{"timeline", bad}}), UsageError) << key;
  }
  Json row = good;
  row["processes"][0]["objects"] = {{99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
  EXPECT_THROW(timelines_of({{"timeline", row}}), UsageError);
  row["processes"][0]["objects"] = {{0, 1}};
  EXPECT_THROW(timelines_of({{"timeline", row}}), UsageError);
}

TEST(Timeline, CallsHaveMoments) {
  Recording run;
  run.add(TimelineWhat::kBegin, TimelineObject::kReservation, 10, 0x1000, 4096);
  run.add(TimelineWhat::kEnd, TimelineObject::kReservation, 20, 0x1000, 4096, 10);
  const ProcessTimeline timeline = run.read();
  const Moments moments(timeline);
  EXPECT_EQ(moments.of_call(10), 100);
  EXPECT_EQ(moments.of_call(15), 100);
  EXPECT_EQ(moments.of_call(99), 200);
  EXPECT_EQ(moments.of_call(0), 1000);
  EXPECT_EQ(moments.life_of({{"value", "0x1000"}, {"made_by_call", 10}}), &timeline.lives[0]);
  EXPECT_EQ(moments.life_of({{"value", "0x1000"}, {"made_by_call", 11}}), nullptr);
  EXPECT_EQ(moments.life_of({{"value", "nonsense"}, {"made_by_call", 10}}), nullptr);
}

}  // namespace
}  // namespace cuvmm::tools
