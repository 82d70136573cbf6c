// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_map_array_test {
namespace {

CUmemAllocationProp tile_pool(int device = 0) {
  CUmemAllocationProp prop = device_prop(device);
  prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
  return prop;
}
/// Maps one tile of an array to the start of `memory`.
CUarrayMapInfo mapping(Handle memory) {
  CUarrayMapInfo info{};
  info.resourceType = CU_RESOURCE_TYPE_ARRAY;
  info.resource.array = reinterpret_cast<CUarray>(std::uintptr_t{0x7000});
  info.subresource.sparseLevel = {0, 0, 0, 0, 0, 128, 128, 1};
  info.memOperationType = CU_MEM_OPERATION_TYPE_MAP;
  info.memHandle.memHandle = memory;
  info.deviceBitMask = 1;
  return info;
}
Violations run(World& w, CUarrayMapInfo info, int stream_device = 0) {
  Facts facts;
  facts.place.device = stream_device;
  return check(w.model, calls::MemMapArrayAsync{&info, 1, nullptr}, facts);
}
Handle memory(World& w, int device = 0) { return w.create(0x100, 1, tile_pool(device)); }

/// A case that sets one field of a legal mapping to a wrong value.
template <auto kSet>
Violations with(World& w, bool broken) {
  CUarrayMapInfo info = mapping(memory(w));
  if (broken) kSet(info);
  return run(w, info);
}
template <auto kSet>
RuleCase field(Rule rule) {
  return {rule, &with<kSet>};
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kArrayListNonnull,
       [](World& w, bool broken) {
         CUarrayMapInfo info = mapping(memory(w));
         return check(w.model, calls::MemMapArrayAsync{broken ? nullptr : &info, 1, nullptr});
       }},
      field<[](CUarrayMapInfo& i) { i.resourceType = CU_RESOURCE_TYPE_LINEAR; }>(
          Rule::kArrayResourceType),
      field<[](CUarrayMapInfo& i) { i.resource.array = nullptr; }>(Rule::kArrayResourceNonnull),
      field<[](CUarrayMapInfo& i) {
        i.subresourceType = static_cast<CUarraySparseSubresourceType>(2);
      }>(Rule::kArraySubresourceType),
      field<[](CUarrayMapInfo& i) { i.subresource.sparseLevel.level = 1; }>(Rule::kArrayLevelZero),
      field<[](CUarrayMapInfo& i) { i.subresource.sparseLevel.extentDepth = 0; }>(
          Rule::kArrayExtentNonzero),
      {Rule::kArrayExtentNonzero,  // the size of a mip tail
       [](World& w, bool broken) {
         CUarrayMapInfo info = mapping(memory(w));
         info.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
         info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
         info.subresource.miptail.size = broken ? 0 : 65536;
         return run(w, info);
       }},
      field<[](CUarrayMapInfo& i) { i.memOperationType = static_cast<CUmemOperationType>(0); }>(
          Rule::kArrayOperation),
      field<[](CUarrayMapInfo& i) { i.memHandleType = static_cast<CUmemHandleType>(1); }>(
          Rule::kArrayHandleType),
      field<[](CUarrayMapInfo& i) { i.flags = 1; }>(Rule::kArrayFlagsZero),
      field<[](CUarrayMapInfo& i) { i.reserved[1] = 1; }>(Rule::kArrayReservedZero),
      field<[](CUarrayMapInfo& i) { i.deviceBitMask = 3; }>(Rule::kArrayOneDevice),
      field<[](CUarrayMapInfo& i) { i.deviceBitMask = 0; }>(Rule::kArrayOneDevice),
      field<[](CUarrayMapInfo& i) { i.deviceBitMask = 4; }>(Rule::kArrayOneDevice),
      {Rule::kArrayStreamDevice,
       [](World& w, bool broken) { return run(w, mapping(memory(w)), broken ? 1 : 0); }},
      {Rule::kArrayMemoryDevice,
       [](World& w, bool broken) { return run(w, mapping(memory(w, broken ? 1 : 0))); }},
      field<[](CUarrayMapInfo& i) { i.memHandle.memHandle = 0; }>(Rule::kArrayHandleNonzero),
      field<[](CUarrayMapInfo& i) { i.memHandle.memHandle = 0x1234; }>(Rule::kArrayHandleValid),
      {Rule::kArrayHandleAlive,
       [](World& w, bool broken) {
         const Handle h = memory(w);
         if (broken) w.release(h);
         return run(w, mapping(h));
       }},
      {Rule::kArrayHandleReferenced,
       [](World& w, bool broken) {
         const Handle h = memory(w);
         w.reserve(kBase, 1);
         w.map(kBase, 1, h);
         if (broken) w.release(h);
         return run(w, mapping(h));
       }},
      {Rule::kArrayTilePool,
       [](World& w, bool broken) {
         return run(w, mapping(w.create(0x100, 1, broken ? device_prop() : tile_pool())));
       }},
      field<[](CUarrayMapInfo& i) { i.offset = kGranule; }>(Rule::kArrayOffsetInside),
      {Rule::kArrayUnmapHandle,
       [](World& w, bool broken) {
         CUarrayMapInfo info = mapping(broken ? memory(w) : 0);
         info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
         return run(w, info);
       }},
  };
}
const ListedCases kListed(cases);

TEST(MapArray, WhatAnArrayForDeferredMappingIgnoresIsUncertain) {
  World w;
  CUarrayMapInfo info = mapping(memory(w));
  info.subresource.sparseLevel = {1, 0, 0, 0, 0, 0, 0, 0};
  const Violations found = run(w, info);
  ASSERT_EQ(found.size(), 2u);
  for (const Violation& v : found) EXPECT_FALSE(v.certain) << v.message;
}

TEST(MapArray, MemoryThatAnArrayShowsIsNoLeak) {
  World w;
  CUarrayMapInfo info = mapping(memory(w));
  const auto leaks = [&] {
    return check_exit(w.model, [](const Export&) { return false; }).size();
  };
  EXPECT_EQ(leaks(), 1u);
  w.accept(calls::MemMapArrayAsync{&info, 1, nullptr});
  EXPECT_EQ(leaks(), 0u);
  info.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
  info.memHandle.memHandle = 0;
  info.subresource.sparseLevel.offsetX = 128;
  w.accept(calls::MemMapArrayAsync{&info, 1, nullptr});
  EXPECT_EQ(leaks(), 0u) << "another tile was unmapped";
  info.subresource.sparseLevel.offsetX = 0;
  w.accept(calls::MemMapArrayAsync{&info, 1, nullptr});
  EXPECT_EQ(leaks(), 1u);
}

TEST(MapArray, WhatACallEndedIsKnownUntilTheNextOne) {
  World w;
  CUarrayMapInfo infos[2] = {mapping(memory(w)), mapping(0x100)};
  infos[0].offset = 4096;
  infos[1].subresource.sparseLevel.offsetX = 128;
  w.accept(calls::MemMapArrayAsync{infos, 2, nullptr});
  EXPECT_TRUE(w.model.tiles().ended().empty());
  const auto* first = w.model.tiles().find(infos[0]);
  const auto* second = w.model.tiles().find(infos[1]);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->offset, 4096u);
  EXPECT_EQ(first->device, 0);
  EXPECT_EQ(first->number, 0u);
  EXPECT_EQ(second->number, 1u);
  const Origin made = second->made;
  // The second call maps other memory over one of the regions, and unmaps the other one.
  infos[0].offset = 0;
  infos[1].memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
  infos[1].memHandle.memHandle = 0;
  w.accept(calls::MemMapArrayAsync{infos, 2, nullptr});
  const auto& ended = w.model.tiles().ended();
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0].first, 0x7000u);
  EXPECT_EQ(ended[0].second.offset, 4096u);
  EXPECT_EQ(ended[1].second.number, 1u);
  EXPECT_EQ(ended[1].second.made.call, made.call);
  EXPECT_EQ(w.model.tiles().find(infos[0])->offset, 0u);
  EXPECT_EQ(w.model.tiles().find(infos[1]), nullptr);
  w.accept(calls::MemMapArrayAsync{infos + 1, 1, nullptr});
  EXPECT_TRUE(w.model.tiles().ended().empty());
}

TEST(MapArray, AHandleThatIsGivenOutAnewHasNoTiles) {
  World w;
  CUarrayMapInfo info = mapping(memory(w));
  w.accept(calls::MemMapArrayAsync{&info, 1, nullptr});
  w.release(0x100);
  memory(w);
  EXPECT_FALSE(w.model.tiles().shows(0x100));
}

TEST(MapArray, AnArrayThatIsDestroyedShowsNothing) {
  World w;
  CUarrayMapInfo infos[2] = {mapping(memory(w)), mapping(0x100)};
  infos[1].resource.array = reinterpret_cast<CUarray>(std::uintptr_t{0x7001});
  w.accept(calls::MemMapArrayAsync{infos, 2, nullptr});
  w.accept(calls::ArrayDestroy{infos[1].resource.array});
  EXPECT_EQ(w.model.tiles().find(infos[1]), nullptr);
  EXPECT_TRUE(w.model.tiles().shows(0x100));
  // The array no longer uses the memory, so the memory is now a leak.
  w.accept(calls::ArrayDestroy{infos[0].resource.array});
  EXPECT_FALSE(w.model.tiles().shows(0x100));
}

TEST(MapArray, EachEntryIsChecked) {
  World w;
  CUarrayMapInfo infos[2] = {mapping(memory(w)), mapping(0x100)};
  infos[1].flags = 1;
  const Violations found = check(w.model, calls::MemMapArrayAsync{infos, 2, nullptr});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message.substr(0, 8), "entry 1:");
}

}  // namespace
}  // namespace cuvmm::testing::check_map_array_test
