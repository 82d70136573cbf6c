// SPDX-License-Identifier: Apache-2.0
// The parts that cuMemMapArrayAsync maps of an array that the model saw being made.
#include <gtest/gtest.h>

#include "rulebook/testing/array_world.h"

namespace cuvmm::testing::check_region_test {
namespace {

Handle pool(World& w, std::uint64_t granules = 1) {
  CUmemAllocationProp prop = device_prop();
  prop.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
  return w.create(0x100, granules, prop);
}

Violations run(World& w, CUarrayMapInfo info) {
  return check(w.model, calls::MemMapArrayAsync{&info, 1, nullptr}, {});
}

CUarrayMapInfo of_mipmap(CUmipmappedArray array, Handle memory) {
  CUarrayMapInfo info = mapping(reinterpret_cast<CUarray>(array), memory);
  info.resourceType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  return info;
}

CUarrayMapInfo of_tail(CUmipmappedArray array, Handle memory, std::uint64_t offset,
                       std::uint64_t size, unsigned layer = 0) {
  CUarrayMapInfo info = of_mipmap(array, memory);
  info.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
  info.subresource = {};
  info.subresource.miptail = {layer, offset, size};
  return info;
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kArrayResourceAlive,
       [](World& w, bool broken) {
         auto* const array = make_array(w, 0x7000);
         if (broken) w.accept(calls::ArrayDestroy{array});
         return run(w, mapping(array, pool(w)));
       }},
      {Rule::kArraySparse,
       [](World& w, bool broken) {
         auto* const array = make_array(w, 0x7000, flat_shape(broken ? 0 : CUDA_ARRAY3D_SPARSE));
         return run(w, mapping(array, pool(w)));
       }},
      {Rule::kArraySparse,  // an array of one dimension
       [](World& w, bool broken) {
         CUDA_ARRAY3D_DESCRIPTOR shape = flat_shape(CUDA_ARRAY3D_DEFERRED_MAPPING);
         if (broken) shape.Height = 0;
         return run(w, mapping(make_array(w, 0x7000, shape), pool(w)));
       }},
      {Rule::kArrayNotLevel,
       [](World& w, bool broken) {
         auto* const whole = make_mipmap(w, 0x7000);
         CUarray level = array_at(0x7100);
         w.accept(calls::MipmappedArrayGetLevel{&level, whole, 0});
         return run(w, broken ? mapping(level, pool(w)) : of_mipmap(whole, pool(w)));
       }},
      {Rule::kArrayTiles,
       [](World& w, bool broken) {
         CUarrayMapInfo info = mapping(make_array(w, 0x7000), pool(w));
         info.subresource.sparseLevel.offsetX = broken ? 64 : 128;
         return run(w, info);
       }},
      {Rule::kArrayMemoryRoom,  // 16 tiles; the last of them end with the memory's 2 MiB
       [](World& w, bool broken) {
         CUarrayMapInfo info = mapping(make_array(w, 0x7000), pool(w));
         info.subresource.sparseLevel.extentWidth = info.subresource.sparseLevel.extentHeight = 512;
         info.offset = (broken ? 17 : 16) * std::uint64_t{65536};
         return run(w, info);
       }},
  };
}
const ListedCases kListed(cases);

struct Region {
  const char* what;
  bool legal;
  decltype(CUarrayMapInfo::subresource.sparseLevel) level;
};

void expect_each(World& w, CUarrayMapInfo info, const std::vector<Region>& regions) {
  for (const Region& region : regions) {
    info.subresource.sparseLevel = region.level;
    const Violations found = run(w, info);
    EXPECT_EQ(found.empty(), region.legal) << region.what;
    for (const Violation& v : found) {
      EXPECT_EQ(v.rule, Rule::kArrayTiles) << region.what;
      EXPECT_TRUE(v.certain) << region.what;
    }
  }
}

TEST(Region, OfTwoDimensions) {
  World w;
  CUDA_ARRAY3D_DESCRIPTOR shape = flat_shape();
  shape.Width = 500;
  expect_each(w, mapping(make_array(w, 0x7000, shape), pool(w)),
              {{"all", true, {0, 0, 0, 0, 0, 500, 512, 1}},
               {"all, with the tiles that the edge cuts", false, {0, 0, 0, 0, 0, 512, 512, 1}},
               {"the last tile", true, {0, 0, 384, 384, 0, 116, 128, 1}},
               {"a tile more", false, {0, 0, 0, 0, 0, 640, 512, 1}},
               {"behind the edge", false, {0, 0, 512, 0, 0, 128, 128, 1}},
               {"far behind it", false, {0, 0, 0xffffff80, 0, 0, 128, 128, 1}},
               {"half a tile", false, {0, 0, 0, 0, 0, 128, 64, 1}},
               {"from half a tile on", false, {0, 0, 0, 64, 0, 128, 128, 1}},
               {"a layer", false, {0, 1, 0, 0, 0, 128, 128, 1}},
               {"a depth", false, {0, 0, 0, 0, 0, 128, 128, 2}},
               {"an offset in depth", false, {0, 0, 0, 0, 1, 128, 128, 1}}});
}

TEST(Region, OfLayers) {
  World w;
  const auto shape = flat_shape(CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_LAYERED, 4);
  expect_each(w, mapping(make_array(w, 0x7000, shape), pool(w)),
              {{"the last layer", true, {0, 3, 0, 0, 0, 128, 128, 1}},
               {"one more", false, {0, 4, 0, 0, 0, 128, 128, 1}}});
}

TEST(Region, OfThreeDimensions) {
  World w;
  CUarray array = array_at(0x7000);
  const CUDA_ARRAY3D_DESCRIPTOR shape = flat_shape(CUDA_ARRAY3D_SPARSE, 64);
  const CUDA_ARRAY_SPARSE_PROPERTIES tiles = flat_tiles(16);
  w.accept(calls::Array3DCreate{&array, &shape}, array_facts(&tiles));
  expect_each(w, mapping(array, pool(w)),
              {{"a tile", true, {0, 0, 0, 0, 48, 128, 128, 16}},
               {"a slice", false, {0, 0, 0, 0, 0, 128, 128, 1}},
               {"behind the last slice", false, {0, 0, 0, 0, 64, 128, 128, 16}}});
}

TEST(Region, OfLevels) {
  World w;
  expect_each(w, of_mipmap(make_mipmap(w, 0x7000, 5), pool(w)),
              {{"the second level", true, {1, 0, 128, 128, 0, 128, 128, 1}},
               {"behind its edge", false, {1, 0, 256, 0, 0, 128, 128, 1}},
               {"a level of the tail, whose tiles nobody knows", true, {4, 0, 0, 0, 0, 32, 32, 1}},
               {"more than a level of the tail", false, {4, 0, 0, 0, 0, 64, 32, 1}},
               {"a layer of a level of the tail", false, {4, 1, 0, 0, 0, 32, 32, 1}},
               {"no level", false, {5, 0, 0, 0, 0, 128, 128, 1}}});
}

TEST(Region, OfTheTail) {
  World w;
  const auto layers = flat_shape(CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_LAYERED, 4);
  auto* const plain = make_mipmap(w, 0x7000, 5);
  auto* const layered = make_mipmap(w, 0x8000, 5, layers);
  auto* const single = make_mipmap(w, 0x9000, 5, layers, CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL);
  auto* const none = make_mipmap(w, 0xa000, 3);
  const Handle memory = pool(w);
  const auto legal = [&](const CUarrayMapInfo& info) {
    const Violations found = run(w, info);
    for (const Violation& v : found) EXPECT_EQ(v.rule, Rule::kArrayTiles);
    return found.empty();
  };
  EXPECT_TRUE(legal(of_tail(plain, memory, 0, 65536)));
  EXPECT_FALSE(legal(of_tail(plain, memory, 0, 4096)));
  EXPECT_FALSE(legal(of_tail(plain, memory, 4096, 65536)));
  EXPECT_FALSE(legal(of_tail(plain, memory, 0, 131072)));
  EXPECT_FALSE(legal(of_tail(plain, memory, 65536, 65536)));
  EXPECT_FALSE(legal(of_tail(plain, memory, 0, 65536, 1)));
  EXPECT_TRUE(legal(of_tail(layered, memory, 0, 65536, 3)));
  EXPECT_FALSE(legal(of_tail(layered, memory, 0, 65536, 4)));
  EXPECT_FALSE(legal(of_tail(single, memory, 0, 65536, 1)));
  EXPECT_FALSE(legal(of_tail(none, memory, 0, 65536)));
}

TEST(Region, AnArrayForDeferredMappingIgnoresIt) {
  World w;
  CUarrayMapInfo info =
      mapping(make_array(w, 0x7000, flat_shape(CUDA_ARRAY3D_DEFERRED_MAPPING)), pool(w));
  info.subresourceType = static_cast<CUarraySparseSubresourceType>(7);
  info.subresource.sparseLevel = {9, 9, 9, 9, 9, 0, 0, 0};
  EXPECT_TRUE(run(w, info).empty());
}

TEST(Region, OfAKnownArrayTheFieldsAreSure) {
  World w;
  CUarrayMapInfo info = mapping(make_array(w, 0x7000), pool(w));
  info.subresource.sparseLevel.level = 1;
  const Violations found = run(w, info);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, Rule::kArrayLevelZero);
  EXPECT_TRUE(found[0].certain);
}

TEST(Region, WhatTheDriverDidNotTellIsNotJudged) {
  World w;
  CUarray array = array_at(0x7000);
  const CUDA_ARRAY3D_DESCRIPTOR shape = flat_shape();
  w.accept(calls::Array3DCreate{&array, &shape}, array_facts(nullptr));
  CUarrayMapInfo info = mapping(array, pool(w));
  info.subresource.sparseLevel = {0, 0, 64, 64, 0, 999, 999, 1};
  EXPECT_TRUE(run(w, info).empty());
}

}  // namespace
}  // namespace cuvmm::testing::check_region_test
