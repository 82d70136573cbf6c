// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "rulebook/testing/array_world.h"

namespace cuvmm::testing::check_array_test {
namespace {

bool never_open(const Export&) { return false; }

CUmipmappedArray map_external(World& w, std::uintptr_t handle) {
  CUmipmappedArray array = mipmap_at(handle);
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC desc{};
  desc.arrayDesc = flat_shape();
  desc.numLevels = 1;
  w.accept(calls::ExternalMemoryGetMappedMipmappedArray{
      &array, reinterpret_cast<CUexternalMemory>(std::uintptr_t{0x10}), &desc});
  return array;
}

std::vector<RuleCase> cases() {
  return {
      {Rule::kArrayDestroyOnce,
       [](World& w, bool broken) {
         auto* const array = make_array(w, 0x7000);
         if (broken) w.accept(calls::ArrayDestroy{array});
         return check(w.model, calls::ArrayDestroy{array});
       }},
      {Rule::kArrayDestroyOnce,
       [](World& w, bool broken) {
         // The array ends with its context, 7, and not with another one.
         CUarray array = array_at(0x7000);
         const CUDA_ARRAY3D_DESCRIPTOR shape = flat_shape();
         Facts facts = array_facts(nullptr);
         facts.place.context_id = 7;
         w.accept(calls::Array3DCreate{&array, &shape}, facts);
         const std::uintptr_t ended_object = broken ? 7 : 8;
         w.accept(calls::CtxDestroy{.ctx = reinterpret_cast<CUcontext>(ended_object)});
         return check(w.model, calls::ArrayDestroy{array});
       }},
      {Rule::kMipmapDestroyOnce,
       [](World& w, bool broken) {
         auto* const array = make_mipmap(w, 0x7000);
         if (broken) w.accept(calls::MipmappedArrayDestroy{array});
         return check(w.model, calls::MipmappedArrayDestroy{array});
       }},
      {Rule::kLevelArrayAlive,
       [](World& w, bool broken) {
         auto* const array = make_mipmap(w, 0x7000);
         if (broken) w.accept(calls::MipmappedArrayDestroy{array});
         CUarray level = nullptr;
         return check(w.model, calls::MipmappedArrayGetLevel{&level, array, 0});
       }},
      {Rule::kLevelExists,
       [](World& w, bool broken) {
         auto* const array = make_mipmap(w, 0x7000, 3);
         CUarray level = nullptr;
         return check(w.model, calls::MipmappedArrayGetLevel{&level, array, broken ? 4u : 2u});
       }},
      {Rule::kExtMipmapFreed,
       [](World& w, bool broken) {
         auto* const array = map_external(w, 0x7000);
         if (!broken) w.accept(calls::MipmappedArrayDestroy{array});
         return check_exit(w.model, never_open);
       }},
  };
}
const ListedCases kListed(cases);

TEST(Array, WhatIsGivenOutAnewIsAlive) {
  World w;
  auto* const array = make_array(w, 0x7000);
  w.accept(calls::ArrayDestroy{array});
  ASSERT_EQ(check(w.model, calls::ArrayDestroy{array}).size(), 1u);
  make_array(w, 0x7000);
  EXPECT_TRUE(check(w.model, calls::ArrayDestroy{array}).empty());
  // The model takes the array for a level of an array that it did not see being made.
  w.accept(calls::ArrayDestroy{array});
  CUarray level = array;
  w.accept(calls::MipmappedArrayGetLevel{&level, mipmap_at(0x9000), 0});
  EXPECT_TRUE(check(w.model, calls::ArrayDestroy{array}).empty());
}

TEST(Array, WhatIsNotKnownIsNotJudged) {
  World w;
  EXPECT_TRUE(check(w.model, calls::ArrayDestroy{array_at(0x7000)}).empty());
  w.accept(calls::ArrayDestroy{array_at(0x7000)});
  EXPECT_TRUE(check(w.model, calls::ArrayDestroy{array_at(0x7000)}).empty());
  CUarray level = nullptr;
  EXPECT_TRUE(check(w.model, calls::MipmappedArrayGetLevel{&level, mipmap_at(0x9000), 99}).empty());
}

TEST(Array, ASecondEndIsSureOnlyWhereEverythingIsSeen) {
  World w;
  auto* const array = make_array(w, 0x7000);
  w.accept(calls::ArrayDestroy{array});
  EXPECT_TRUE(check(w.model, calls::ArrayDestroy{array})[0].certain);
  w.model.platform().complete = false;
  EXPECT_FALSE(check(w.model, calls::ArrayDestroy{array})[0].certain);
}

TEST(Array, LevelsEndWithTheirArray) {
  World w;
  auto* const whole = make_mipmap(w, 0x7000, 3);
  CUarray level = array_at(0x7100);
  w.accept(calls::MipmappedArrayGetLevel{&level, whole, 1});
  w.accept(calls::MipmappedArrayGetLevel{&level, whole, 1});
  const ArrayObject* known = w.model.arrays().find(0x7100);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->parent, 0x7000u);
  EXPECT_EQ(known->shape.Width, 256u);
  w.accept(calls::MipmappedArrayDestroy{whole});
  EXPECT_TRUE(w.model.arrays().all().empty());
  EXPECT_EQ(check(w.model, calls::ArrayDestroy{level}).size(), 1u);
}

TEST(Array, OneThatIsNotDestroyedAfterAllIsKnownAsBefore) {
  World w;
  auto* const whole = make_mipmap(w, 0x7000, 3);
  CUarray level = array_at(0x7100);
  w.accept(calls::MipmappedArrayGetLevel{&level, whole, 1});
  const calls::MipmappedArrayDestroy call{whole};
  Retired retired;
  w.model.begin(call, w.at(), retired);
  EXPECT_FALSE(w.model.arrays().find(0x7000));
  w.model.undo(call, w.at(), retired);
  EXPECT_TRUE(w.model.arrays().find(0x7000));
  EXPECT_TRUE(w.model.arrays().find(0x7100));
  EXPECT_TRUE(check(w.model, call).empty());
}

TEST(Array, MoreLevelsThanThereCanBeAreNotThere) {
  World w;
  make_mipmap(w, 0x7000, 99);  // 512 x 512 elements
  EXPECT_EQ(w.model.arrays().find(0x7000)->levels, 10u);
}

TEST(Array, OneOfExternalMemoryIsALeakAndNoOther) {
  World w;
  make_mipmap(w, 0x8000);  // an array without external memory is no leak
  EXPECT_TRUE(check_exit(w.model, never_open).empty());
  map_external(w, 0x7000);
  EXPECT_EQ(check_exit(w.model, never_open).size(), 1u);
}

TEST(Array, EndsWithItsContextAndWhatItShowsDoes) {
  World w;
  auto* const array = make_array(w, 0x7000);
  auto* const strange = array_at(0x8000);
  w.create(0x100, 1);
  w.create(0x200, 1);
  const auto show = [&](CUarray in, Handle memory) {
    CUarrayMapInfo info = mapping(in, memory);
    w.accept(calls::MemMapArrayAsync{&info, 1, nullptr});
  };
  show(array, 0x100);
  show(strange, 0x200);
  const auto context = [](std::uintptr_t id) { return reinterpret_cast<CUcontext>(id); };
  w.accept(calls::CtxDestroy{context(kArrayContext + 1)});
  EXPECT_TRUE(w.model.tiles().shows(0x100)) << "another context";
  const calls::CtxDestroy end{context(kArrayContext)};
  Retired retired;
  w.model.begin(end, w.at(), retired);
  EXPECT_FALSE(w.model.tiles().shows(0x100));
  w.model.undo(end, w.at(), retired);
  EXPECT_TRUE(w.model.tiles().shows(0x100)) << "the driver refused";
  w.accept(end);
  EXPECT_FALSE(w.model.tiles().shows(0x100));
  EXPECT_TRUE(w.model.tiles().shows(0x200)) << "nobody knows its context";
  EXPECT_FALSE(w.model.arrays().find(0x7000));
  const Violations again = check(w.model, calls::ArrayDestroy{array});
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again.front().rule, Rule::kArrayDestroyOnce);
}

TEST(Array, WhatWasDestroyedWhileItsContextSeemedToEndStaysSo) {
  World w;
  auto* const array = make_array(w, 0x7000);
  w.create(0x100, 1);
  CUarrayMapInfo info = mapping(array, 0x100);
  w.accept(calls::MemMapArrayAsync{&info, 1, nullptr});
  const calls::CtxDestroy end{reinterpret_cast<CUcontext>(kArrayContext)};
  Retired retired;
  w.model.begin(end, w.at(), retired);
  w.accept(calls::ArrayDestroy{array});
  w.model.undo(end, w.at(), retired);
  EXPECT_FALSE(w.model.arrays().find(0x7000));
  EXPECT_FALSE(w.model.tiles().shows(0x100));
}

}  // namespace
}  // namespace cuvmm::testing::check_array_test
