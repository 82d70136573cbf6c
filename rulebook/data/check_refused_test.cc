// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "rulebook/data/refused.h"
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_refused_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Address kPlace = 0x5000'0000'0000;
constexpr Size kBytes = 4096;

void allocate(World& w, Size size = kBytes) {
  CUdeviceptr out = kPlace;
  w.accept(calls::MemAlloc{.dptr = &out, .bytesize = size});
}
void allocate_from_pool(World& w) {
  CUdeviceptr out = kPlace;
  w.accept(calls::MemAllocAsync{.dptr = &out, .bytesize = kBytes});
}

template <class CallStruct>
Violations look(const World& w, const CallStruct& call) {
  Touch list[kMaxTouches];
  const std::size_t count = touches(call, list);
  return check_refused_touches(w.model, list, count);
}

template <class CallStruct>
std::vector<Rule> refused(const World& w, const CallStruct& call) {
  std::vector<Rule> rules;
  for (const Violation& v : look(w, call)) {
    EXPECT_FALSE(v.certain) << "other memory may lie there now";
    EXPECT_EQ(v.objects.size(), 1u) << v.message;
    rules.push_back(v.rule);
  }
  return rules;
}

calls::MemsetD8 fill(Size bytes, Address at = kPlace) { return {.dstDevice = at, .N = bytes}; }

std::vector<RuleCase> cases() {
  return {
      {Rule::kDataAlive,
       [](World& w, bool broken) {
         allocate(w);
         if (broken) w.accept(calls::MemFree{.dptr = kPlace});
         return look(w, fill(16));
       }},
      {Rule::kDataInside,
       [](World& w, bool broken) {
         allocate(w);
         return look(w, fill(kBytes + (broken ? 1 : 0)));
       }},
  };
}
const ListedCases kListed(cases);

TEST(CheckRefused, MemoryThatEnded) {
  World w;
  EXPECT_THAT(refused(w, fill(16)), IsEmpty()) << "nothing is known of it";
  allocate(w);
  EXPECT_THAT(refused(w, fill(16)), IsEmpty()) << "it lives: there is another reason";
  w.accept(calls::MemFree{.dptr = kPlace});
  EXPECT_THAT(refused(w, fill(16)), ElementsAre(Rule::kDataAlive));
  EXPECT_THAT(refused(w, fill(16, kPlace + kBytes - 1)), ElementsAre(Rule::kDataAlive));
  EXPECT_THAT(refused(w, fill(16, kPlace + kBytes)), IsEmpty()) << "behind it";
  allocate(w);
  EXPECT_THAT(refused(w, fill(16)), IsEmpty()) << "born again";
}

TEST(CheckRefused, MemoryOfAPoolThatEnded) {
  World w;
  allocate_from_pool(w);
  w.accept(calls::MemFreeAsync{.dptr = kPlace});
  EXPECT_THAT(refused(w, calls::MemcpyDtoH{.srcDevice = kPlace, .ByteCount = 8}),
              ElementsAre(Rule::kDataAlive));
}

TEST(CheckRefused, WhatEndedLastIsNamed) {
  World w;
  w.reserve(kPlace, 1);
  w.accept(calls::MemAddressFree{.ptr = kPlace, .size = kGranule});
  EXPECT_THAT(refused(w, fill(16)), ElementsAre(Rule::kDataMapped));
  allocate(w);
  w.accept(calls::MemFree{.dptr = kPlace});
  EXPECT_THAT(refused(w, fill(16)), ElementsAre(Rule::kDataAlive));
}

TEST(CheckRefused, PastItsEnd) {
  World w;
  allocate(w);
  EXPECT_THAT(refused(w, fill(kBytes)), IsEmpty());
  EXPECT_THAT(refused(w, fill(kBytes + 1)), ElementsAre(Rule::kDataInside));
  EXPECT_THAT(refused(w, fill(~Size{0})), ElementsAre(Rule::kDataInside));
  EXPECT_THAT(refused(w, fill(2, kPlace + kBytes - 2)), IsEmpty());
  EXPECT_THAT(refused(w, fill(3, kPlace + kBytes - 2)), ElementsAre(Rule::kDataInside));
}

TEST(CheckRefused, BehindItsEnd) {
  constexpr Size kFar = Size{1} << 30;
  World w;
  allocate(w);
  EXPECT_THAT(refused(w, fill(4, kPlace + kBytes)), ElementsAre(Rule::kDataInside));
  EXPECT_THAT(look(w, fill(4, kPlace + kBytes))[0].message,
              ::testing::HasSubstr("it is the end of"));
  EXPECT_THAT(look(w, fill(4, kPlace + 3 * kBytes))[0].message,
              ::testing::HasSubstr("it is 8 KiB past the end of"));
  EXPECT_THAT(refused(w, fill(4, kPlace + kBytes + kFar)), IsEmpty()) << "no overrun";
  EXPECT_THAT(refused(w, fill(4, kPlace - 64)), IsEmpty());
  // A pointer of the host is no address behind memory of a device.
  EXPECT_THAT(refused(w, calls::Memcpy{.dst = kPlace, .src = kPlace + kBytes, .ByteCount = 4}),
              IsEmpty());
  CUdeviceptr out = kPlace + kBytes + kBytes;
  w.accept(calls::MemAlloc{.dptr = &out, .bytesize = kBytes});
  const Violations nearer = look(w, fill(4, kPlace + 3 * kBytes));
  ASSERT_EQ(nearer.size(), 1u);
  EXPECT_EQ(nearer.front().objects[0].value, out);
}

TEST(CheckRefused, RowsPastItsEnd) {
  World w;
  allocate(w);
  calls::MemsetD2D8 rows{.dstDevice = kPlace, .dstPitch = 1024, .Width = 512, .Height = 4};
  EXPECT_THAT(refused(w, rows), IsEmpty());
  rows.Height = 5;
  EXPECT_THAT(refused(w, rows), ElementsAre(Rule::kDataInside));
  rows.dstPitch = ~std::size_t{0} / 2;  // nothing may multiply by this
  EXPECT_THAT(refused(w, rows), ElementsAre(Rule::kDataInside));
}

// Only a caller that knows whether the host can read there knows whether the ended memory matters.
TEST(CheckRefused, AnAddressThatMayBeTheHosts) {
  World w;
  allocate(w);
  const calls::Memcpy copy{.dst = kPlace, .src = 0x1000, .ByteCount = kBytes + 1};
  EXPECT_THAT(refused(w, copy), ElementsAre(Rule::kDataInside));
  w.accept(calls::MemFree{.dptr = kPlace});
  EXPECT_THAT(refused(w, copy), ElementsAre(Rule::kDataAlive));
  EXPECT_FALSE(names_device({.parameter = "dst"}));
  EXPECT_TRUE(names_device({.on_gpu = true, .parameter = "addr"}));
}

TEST(CheckRefused, BeforeItsBeginning) {
  World w;
  allocate(w);
  EXPECT_THAT(refused(w, fill(8, kPlace - 8)), IsEmpty()) << "all of it lies before";
  const Violations found = look(w, fill(9, kPlace - 8));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, Rule::kDataInside);
  EXPECT_NE(found[0].message.find("begins 8 B before"), std::string::npos) << found[0].message;
  allocate_from_pool(w);
  EXPECT_THAT(refused(w, fill(9, kPlace - 8)), ElementsAre(Rule::kDataInside));
}

TEST(CheckRefused, RowsBeforeItsBeginning) {
  World w;
  allocate(w);
  calls::MemsetD2D8 rows{.dstDevice = kPlace - 64, .dstPitch = 64, .Width = 64, .Height = 1};
  EXPECT_THAT(refused(w, rows), IsEmpty());
  rows.Height = 2;
  EXPECT_THAT(refused(w, rows), ElementsAre(Rule::kDataInside));
  rows.dstPitch = ~std::size_t{0};  // the span overflows
  rows.Height = 9;
  EXPECT_THAT(refused(w, rows), IsEmpty());
}

TEST(CheckRefused, SaysHowFarItGoes) {
  World w;
  allocate(w);
  const Violations found = look(w, fill(kBytes + 3));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].message.find("runs 3 B past"), std::string::npos) << found[0].message;
}

TEST(CheckRefused, TheProgramsOwnRegisteredMemoryGoesOnBehindIt) {
  World w;
  w.accept(calls::MemHostRegister{.p = reinterpret_cast<void*>(kPlace), .bytesize = kBytes});
  EXPECT_THAT(refused(w, fill(kBytes + 1)), IsEmpty());
}

// The pool of cuMemAllocAsync is its device's, and no call tells the model which that is.
TEST(CheckRefused, MemoryOfADefaultPoolIsClosedToOtherDevices) {
  World w;
  allocate_from_pool(w);
  Touch list[kMaxTouches];
  ASSERT_EQ(touches(fill(16), list), 1u);
  const Violations found = check_refused_pool(w.model, list[0], 0, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, Rule::kDataPoolAccess);
  EXPECT_FALSE(found[0].certain);
  EXPECT_NE(found[0].message.find("which is on device 1"), std::string::npos) << found[0].message;
  EXPECT_TRUE(check_refused_pool(w.model, list[0], 1, 1).empty()) << "its own device";
  EXPECT_TRUE(check_refused_pool(w.model, list[0], 0, -1).empty()) << "nobody knows the owner";
  EXPECT_TRUE(check_refused_pool(w.model, list[0], -1, 1).empty()) << "nor who touches it";
}

}  // namespace
}  // namespace cuvmm::testing::check_refused_test
