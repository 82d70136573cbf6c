// SPDX-License-Identifier: Apache-2.0
// The events in a timeline for memory that is used without an address: bound to a multicast object,
// or mapped into a sparse array. The tests also check the times of the events.
#include "shim/recorder/timeline.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "api/sizes.h"
#include "recorder/last_calls/format.h"
#include "recorder/timeline/format.h"
#include "shim/recorder/recorded_call.h"
#include "shim/session/mocked_session.h"

namespace cuvmm::shim {
namespace {

using ::testing::_;
using ::testing::Return;
using timeline::Object;
using timeline::What;

constexpr CUmemGenericAllocationHandle kTeam = 0xe00900, kMemory = 0xe00100;
constexpr std::uintptr_t kArray = 0x7000;

class TimelineUses : public MockedSession {
 protected:
  TimelineUses() {
    std::string name = (std::filesystem::temp_directory_path() / "cuvmm-uses-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    ON_CALL(mock_, DeviceGetCount(_)).WillByDefault(answers(2));
    ON_CALL(mock_, DeviceGetAttribute(_, _, _)).WillByDefault(answers(1));
    ON_CALL(mock_, MulticastGetGranularity(_, _, _)).WillByDefault(answers(kGranule));
    ON_CALL(mock_, MulticastCreate(_, _)).WillByDefault(answers(kTeam));
    ON_CALL(mock_, MemCreate(_, _, _, _)).WillByDefault(answers(kMemory));
    session_.keep_timeline_in(folder_);
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 1;
    prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_OK(run(calls::MemCreate{&handle, 2 * kGranule, &prop, 0}));
  }
  ~TimelineUses() override { std::filesystem::remove_all(folder_); }

  void make_team() {
    CUmulticastObjectProp prop{};
    prop.numDevices = 2;
    prop.size = 4 * kGranule;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_OK(run(calls::MulticastCreate{&handle, &prop}));
    for (const int device : {0, 1}) {
      EXPECT_OK(run(calls::MulticastAddDevice{kTeam, device}));
    }
  }
  CUresult bind() {
    return run(calls::MulticastBindMem{kTeam, kGranule, kMemory, 0, 2 * kGranule, 0});
  }
  CUresult unbind() { return run(calls::MulticastUnbind{kTeam, 1, kGranule, 2 * kGranule}); }

  /// A tile of the array, `x` tiles from its begin.
  static CUarrayMapInfo tile(unsigned x, std::uint64_t offset) {
    CUarrayMapInfo info{};
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = reinterpret_cast<CUarray>(kArray);
    info.subresource.sparseLevel = {0, 0, 128 * x, 0, 0, 128, 128, 1};
    info.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
    info.memHandle.memHandle = kMemory;
    info.offset = offset;
    info.deviceBitMask = 2;
    return info;
  }
  static CUarrayMapInfo no_tile(unsigned x) {
    CUarrayMapInfo info = tile(x, 0);
    info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    info.memHandle.memHandle = 0;
    return info;
  }
  CUresult map_array(std::vector<CUarrayMapInfo> entries) {
    return run(
        calls::MemMapArrayAsync{entries.data(), static_cast<unsigned>(entries.size()), nullptr});
  }

  /// The events of one kind, in order, together with the events of refused calls.
  std::vector<timeline::Event> events(Object kind) const { return events(kind, folder_); }
  static std::vector<timeline::Event> events(Object kind, const std::string& folder) {
    std::vector<timeline::Event> all;
    auto image = std::make_unique<timeline::Image>();
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::ifstream(entry.path()).read(reinterpret_cast<char*>(image.get()), sizeof *image);
      const std::uint64_t count =
          timeline::count_events(image->events, image->header.counts[image->header.newest].events);
      for (std::uint64_t n = 0; n < count; ++n) {
        const timeline::Event& event = image->events[timeline::place_of(n)];
        if (event.round != timeline::round_of(n))
          continue;  // a later event has overwritten this
                     // one
        if (event.object == kind || event.what == What::kUndone) all.push_back(event);
      }
    }
    return all;
  }

  std::string folder_;
};

TEST_F(TimelineUses, ABindingHasItsObjectMemoryAndPlace) {
  make_team();
  ASSERT_OK(bind());
  ASSERT_OK(unbind());
  const auto found = events(Object::kBinding);
  ASSERT_EQ(found.size(), 2u);
  const timeline::Event &begin = found[0], &end = found[1];
  EXPECT_EQ(begin.what, What::kBegin);
  EXPECT_EQ(begin.key, kTeam);
  EXPECT_EQ(begin.other, kMemory);
  EXPECT_EQ(begin.size, 2 * kGranule);
  EXPECT_EQ(begin.more, kGranule);
  EXPECT_EQ(begin.device, 1);
  EXPECT_EQ(end.what, What::kEnd);
  EXPECT_EQ(end.key, kTeam);
  EXPECT_EQ(end.other, begin.by.call);
  EXPECT_EQ(end.more, begin.by.stack);
}

TEST_F(TimelineUses, WhatTheDriverRefusesIsNoBinding) {
  make_team();
  EXPECT_CALL(mock_, MulticastBindMem(_, _, _, _, _, _))
      .WillOnce(Return(CUDA_ERROR_OUT_OF_MEMORY))
      .WillRepeatedly(Return(CUDA_SUCCESS));
  bind();
  EXPECT_TRUE(events(Object::kBinding).empty());
  ASSERT_OK(bind());
  EXPECT_CALL(mock_, MulticastUnbind(_, _, _, _)).WillOnce(Return(CUDA_ERROR_UNKNOWN));
  unbind();
  const auto found = events(Object::kBinding);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[2].what, What::kUndone);
  EXPECT_EQ(found[2].by.call, found[1].by.call);
}

TEST_F(TimelineUses, TheObjectTakesItsBindingsWithIt) {
  make_team();
  ASSERT_OK(bind());
  ASSERT_OK(run(calls::MemRelease{kTeam}));
  const auto found = events(Object::kBinding);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].what, What::kEnd);
  EXPECT_EQ(found[1].other, found[0].by.call);
  const auto objects = events(Object::kMulticast);
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[1].by.call, found[1].by.call);
}

TEST_F(TimelineUses, ARegionOfASparseArrayHasItsMemory) {
  ASSERT_OK(map_array({tile(0, 0), tile(1, kGranule)}));
  ASSERT_OK(map_array({no_tile(1), tile(0, 65536)}));
  const auto found = events(Object::kSparse);
  ASSERT_EQ(found.size(), 5u);
  for (const auto& event : found) EXPECT_EQ(event.key, kArray);
  EXPECT_EQ(found[0].what, What::kBegin);
  EXPECT_EQ(found[0].other, kMemory);
  EXPECT_EQ(found[0].device, 1);
  EXPECT_EQ(found[1].more, timeline::use_word(kGranule, 1));
  EXPECT_EQ(found[2].what, What::kEnd);
  EXPECT_EQ(timeline::use_number(found[2].more), 1u);
  EXPECT_EQ(found[2].other, found[1].by.call);
  // The other tile shows another part of the memory.
  EXPECT_EQ(found[3].what, What::kEnd);
  EXPECT_EQ(timeline::use_number(found[3].more), 0u);
  EXPECT_EQ(found[4].what, What::kBegin);
  EXPECT_EQ(found[4].more, timeline::use_word(65536, 1));
}

// The mock answers like a driver, for an array of tiles of 64 x 32 x 1.
TEST_F(TimelineUses, ARegionIsAsLargeAsItsTiles) {
  CUDA_ARRAY_SPARSE_PROPERTIES tiles{};
  tiles.tileExtent = {64, 32, 1};
  tiles.miptailSize = 65536;
  EXPECT_CALL(mock_, ArrayGetSparseProperties(_, reinterpret_cast<CUarray>(kArray)))
      .Times(2)
      .WillRepeatedly(answers(tiles));
  CUarrayMapInfo ragged = tile(1, 0), tail = tile(2, 0);
  ragged.subresource.sparseLevel.extentWidth = 65;
  ragged.subresource.sparseLevel.extentHeight = 32;
  tail.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
  tail.subresource.miptail = {0, 0, 131072};
  ASSERT_OK(map_array({tile(0, 0), ragged, tail}));
  ASSERT_OK(map_array({no_tile(0), ragged}));
  const auto found = events(Object::kSparse);
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found[0].size, 8 * 65536u);
  EXPECT_EQ(found[1].size, 2 * 65536u);
  EXPECT_EQ(found[2].size, 131072u);
  EXPECT_EQ(found[3].what, What::kEnd);
  EXPECT_EQ(found[3].size, 8 * 65536u);
}

TEST_F(TimelineUses, AMipmappedArrayIsAskedByItsOwnFunction) {
  CUDA_ARRAY_SPARSE_PROPERTIES tiles{};
  tiles.tileExtent = {128, 128, 1};
  EXPECT_CALL(mock_, ArrayGetSparseProperties(_, _)).Times(0);
  EXPECT_CALL(mock_, MipmappedArrayGetSparseProperties(_, _)).WillOnce(answers(tiles));
  CUarrayMapInfo entry = tile(0, 0);
  entry.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  ASSERT_OK(map_array({entry}));
  EXPECT_EQ(events(Object::kSparse).at(0).size, 65536u);
}

TEST_F(TimelineUses, WhatTheDriverDoesNotTellIsNoSize) {
  CUDA_ARRAY_SPARSE_PROPERTIES odd{}, flat{};
  odd.tileExtent = {128, 128, 1};
  odd.miptailSize = 4096;  // then a tile does not have 64 KiB
  flat.tileExtent = {128, 128, 0};
  EXPECT_CALL(mock_, ArrayGetSparseProperties(_, _))
      .WillOnce(Return(CUDA_ERROR_INVALID_VALUE))
      .WillOnce(answers(odd))
      .WillOnce(answers(flat));
  for (const unsigned x : {0u, 1u, 2u}) ASSERT_OK(map_array({tile(x, 0)}));
  for (const auto& event : events(Object::kSparse)) EXPECT_EQ(event.size, 0u);
}

TEST_F(TimelineUses, WithoutATimelineNobodyAsks) {
  Session session(mock_.driver(), {.enforce = false, .emulated = true}, findings_);
  EXPECT_CALL(mock_, ArrayGetSparseProperties(_, _)).Times(0);
  CUarrayMapInfo entry = tile(0, 0);
  EXPECT_OK(session.run(Driver::primary_symbol(EntryPoint::kMemMapArrayAsync),
                        calls::MemMapArrayAsync{&entry, 1, nullptr}, CUVMM_CALLER));
}

TEST_F(TimelineUses, AnArrayTakesItsRegionsWithIt) {
  CUarrayMapInfo other = tile(0, 0);
  other.resource.array = reinterpret_cast<CUarray>(kArray + 8);
  ASSERT_OK(map_array({tile(0, 0), tile(1, 65536), other}));
  ASSERT_OK(run(calls::ArrayDestroy{reinterpret_cast<CUarray>(kArray)}));
  const auto found = events(Object::kSparse);
  ASSERT_EQ(found.size(), 5u);
  for (const std::size_t i : {3u, 4u}) {
    EXPECT_EQ(found[i].what, What::kEnd);
    EXPECT_EQ(found[i].key, kArray);
    EXPECT_EQ(found[i].other, found[0].by.call);
    EXPECT_EQ(timeline::use_number(found[i].more), i - 3);
  }
  // Another array with this handle maps nothing yet.
  ASSERT_OK(map_array({tile(0, 0)}));
  EXPECT_EQ(events(Object::kSparse).size(), 6u);
}

TEST_F(TimelineUses, AnArrayThatIsNotDestroyedShowsWhatItShowed) {
  CUarrayMapInfo entry = tile(0, 0);
  entry.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  ASSERT_OK(map_array({entry}));
  EXPECT_CALL(mock_, MipmappedArrayDestroy(_))
      .WillOnce(Return(CUDA_ERROR_ARRAY_IS_MAPPED))
      .WillOnce(Return(CUDA_SUCCESS));
  const auto array = reinterpret_cast<CUmipmappedArray>(kArray);
  EXPECT_EQ(run(calls::MipmappedArrayDestroy{array}), CUDA_ERROR_ARRAY_IS_MAPPED);
  const auto found = events(Object::kSparse);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[2].what, What::kUndone);
  EXPECT_EQ(found[2].by.call, found[1].by.call);
  // The mapping is still there, so that this call ends it.
  EXPECT_OK(run(calls::MipmappedArrayDestroy{array}));
  EXPECT_EQ(events(Object::kSparse).back().what, What::kEnd);
  EXPECT_EQ(events(Object::kSparse).back().other, found[0].by.call);
}

TEST_F(TimelineUses, OfTwoEntriesForOneRegionTheLastOneCounts) {
  ASSERT_OK(map_array({tile(0, 0), tile(0, kGranule), tile(1, 0), no_tile(1)}));
  const auto found = events(Object::kSparse);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].more, timeline::use_word(kGranule, 1));
}

TEST_F(TimelineUses, WhatTheDriverRefusesShowsNothing) {
  EXPECT_CALL(mock_, MemMapArrayAsync(_, _, _)).WillOnce(Return(CUDA_ERROR_NOT_SUPPORTED));
  map_array({tile(0, 0)});
  EXPECT_TRUE(events(Object::kSparse).empty());
}

// The first events, and the last ones, belong to other calls.
TEST_F(TimelineUses, WhatIsMappedInTheGapAndLivesHasItsMemory) {
  const std::string folder = folder_ + "/gap";
  std::filesystem::create_directory(folder);
  Timeline timeline;
  timeline.choose(folder);
  ProcessHistory history;
  CUmemAccessDesc desc{};
  desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  Origin at{.call = 0, .stack = 0, .thread = 1};
  const auto others = [&](std::size_t count) {
    for (; count > 0; --count) {
      ++at.call;
      timeline.add_made(history, calls::MemSetAccess{kBase, kGranule, &desc, 1}, at);
    }
  };
  others(timeline::kFirstEvents + 1);
  ++at.call;
  const Origin made = at;
  CUarrayMapInfo entries[] = {tile(0, 0), tile(1, 65536)};
  const calls::MemMapArrayAsync mapped{entries, 2, nullptr};
  NoChange none;
  history.model.confirm(mapped, {}, at, none);
  timeline.add_made(history, mapped, at);
  others(timeline::kLastEvents + 1);
  timeline.finish(history.model);
  const auto found = events(Object::kSparse, folder);
  ASSERT_EQ(found.size(), 4u);
  for (const std::size_t i : {0u, 1u}) {
    EXPECT_EQ(found[2 * i].what, What::kAlive);
    EXPECT_EQ(found[2 * i].other, made.call);
    EXPECT_EQ(found[2 * i + 1].what, What::kShows);
    EXPECT_EQ(found[2 * i + 1].other, kMemory);
    EXPECT_EQ(found[2 * i + 1].more, timeline::use_word(65536 * i, i));
  }
}

/// With a ring of last calls, as in a process under cuvmm run.
class TimelineTimes : public TimelineUses {
 protected:
  ~TimelineTimes() override {
    g_last_calls.stop();
    t_state.call_place = {};
  }
  void start_last_calls() { g_last_calls.start(image_.get()); }
  /// Calls map_array() as its wrapper does with a ring.
  CUresult map_in_last_calls(std::vector<CUarrayMapInfo> entries) {
    RecordedCall record;
    record.begin(
        calls::MemMapArrayAsync{entries.data(), static_cast<unsigned>(entries.size()), nullptr});
    EXPECT_EQ(record.begun(), g_last_calls.image() != nullptr);
    const CUresult result = map_array(entries);
    record.returned(result);
    return result;
  }

  std::unique_ptr<last_calls::Image> image_ = std::make_unique<last_calls::Image>();
};

TEST_F(TimelineTimes, AnEventIsOfTheMomentAtWhichTheRingSawItsCall) {
  start_last_calls();
  ASSERT_OK(map_in_last_calls({tile(0, 0), tile(1, kGranule)}));
  ASSERT_OK(map_in_last_calls({no_tile(0), no_tile(1)}));
  const auto found = events(Object::kSparse);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_LT(image_->calls[0].ticks, image_->calls[1].ticks);
  for (const std::size_t i : {0u, 1u, 2u, 3u}) {
    EXPECT_EQ(found[i].ticks, image_->calls[i / 2].ticks) << i;
  }
}

TEST_F(TimelineTimes, WithoutARingAnEventHasATimeWithinItsCall) {
  const std::uint64_t before = recorder::now_ticks();
  ASSERT_OK(map_in_last_calls({tile(0, 0), tile(1, kGranule)}));
  const std::uint64_t between = recorder::now_ticks();
  ASSERT_OK(map_in_last_calls({no_tile(0), no_tile(1)}));
  const auto found = events(Object::kSparse);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_GE(found[0].ticks, before);
  EXPECT_GE(found[1].ticks, found[0].ticks);
  EXPECT_LE(found[1].ticks, between);
  EXPECT_GE(found[2].ticks, between);
  EXPECT_GE(found[3].ticks, found[2].ticks);
  EXPECT_LE(found[3].ticks, recorder::now_ticks());
}

}  // namespace
}  // namespace cuvmm::shim
