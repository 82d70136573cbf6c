// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "rulebook/leaks/memory_left.h"
#include "rulebook/testing/world.h"

namespace cuvmm::testing::check_memory_test {
namespace {

constexpr Address kPlain = 0x5000'0000'0000;
constexpr Address kHost = 0x1000'0000;

void* host(Address address) { return reinterpret_cast<void*>(address); }
CUstream stream(std::uintptr_t handle) { return reinterpret_cast<CUstream>(handle); }

Facts with_context(bool there = true) {
  Facts facts;
  facts.place.context = there ? Facts::Answer::kYes : Facts::Answer::kNo;
  facts.place.context_id = there ? 7 : 0;
  facts.place.device = there ? 0 : Facts::kUnknownDevice;
  return facts;
}

void host_memory(World& w, Address base) {
  void* out = host(base);
  w.accept(calls::MemAllocHost{.pp = &out, .bytesize = kPlainSize});
}
void enroll(World& w, Address base) {
  w.accept(calls::MemHostRegister{.p = host(base), .bytesize = kPlainSize});
}
Address pooled(World& w, Address base) {
  CUdeviceptr out = base;
  w.accept(calls::MemAllocAsync{.dptr = &out, .bytesize = kPlainSize});
  return base;
}

// The variables to which a call that makes memory writes.
struct Outs {
  CUdeviceptr address = 0;
  std::size_t pitch = 0;
  void* pointer = nullptr;
} outs;

template <class CallStruct>
Violations look(const World& w, const CallStruct& call, bool context = true) {
  return check(w.model, call, with_context(context));
}

std::vector<RuleCase> allocating_cases() {
  return {
      {Rule::kMemoryContext,  // a created stream has a context of its own
       [](World& w, bool broken) {
         return look(
             w,
             calls::MemAllocAsync{
                 .dptr = &outs.address, .bytesize = 1, .hStream = broken ? nullptr : stream(0x77)},
             false);
       }},
      {Rule::kMemoryContext,  // a query for neither value needs no context
       [](World& w, bool broken) {
         return look(
             w, calls::MemGetAddressRange{.base = broken ? &outs.address : nullptr, .dptr = kPlain},
             false);
       }},
  };
}

std::vector<RuleCase> freeing_cases() {
  return {
      {Rule::kFreeKnown,  // a free of 0 is legal
       [](World& w, bool broken) {
         return look(w, calls::MemFreeHost{.p = host(broken ? kHost : 0)});
       }},
      {Rule::kFreeKnown,  // an address inside of freed memory
       [](World& w, bool broken) {
         w.plain(kPlain);
         if (broken) w.accept(calls::MemFree{.dptr = kPlain});
         return look(w, calls::MemFree{.dptr = broken ? kPlain + 512 : kPlain});
       }},
      {Rule::kFreeOnce,
       [](World& w, bool broken) {
         w.plain(kPlain);
         w.accept(calls::MemFree{.dptr = kPlain});
         if (!broken) w.plain(kPlain);  // the driver gives the address out again
         return look(w, calls::MemFree{.dptr = kPlain});
       }},
      {Rule::kFreeOnce,  // a second free by another function
       [](World& w, bool broken) {
         pooled(w, kPlain);
         if (broken) w.accept(calls::MemFree{.dptr = kPlain});
         return look(w, calls::MemFreeAsync{.dptr = kPlain});
       }},
      {Rule::kFreeOnce,  // plain memory ends with its context; memory of a pool does not
       [](World& w, bool broken) {
         broken ? w.plain(kPlain) : pooled(w, kPlain);
         w.accept(calls::CtxDestroy{.ctx = reinterpret_cast<CUcontext>(std::uintptr_t{7})});
         return look(w, calls::MemFree{.dptr = kPlain});
       }},
      {Rule::kFreeFunction,  // memory of a pool is device memory
       [](World& w, bool broken) {
         pooled(w, kPlain);
         return broken ? look(w, calls::MemFreeHost{.p = host(kPlain)})
                       : look(w, calls::MemFree{.dptr = kPlain});
       }},
  };
}

std::vector<RuleCase> host_cases() { return {}; }

std::vector<RuleCase> left_cases() {
  return {
      {Rule::kMemoryLeft,
       [](World& w, bool broken) {
         w.plain(kPlain);
         if (!broken) w.accept(calls::MemFree{.dptr = kPlain});
         return memory_left(w.model);
       }},
      {Rule::kMemoryLeft,
       [](World& w, bool broken) {
         pooled(w, kPlain);
         if (!broken) w.accept(calls::MemFreeAsync{.dptr = kPlain});
         return memory_left(w.model);
       }},
      {Rule::kMemoryLeft,
       [](World& w, bool broken) {
         enroll(w, kHost);
         if (!broken) w.accept(calls::MemHostUnregister{.p = host(kHost)});
         return memory_left(w.model);
       }},
      {Rule::kMemoryLeft,  // mapped memory has rules of its own
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         if (broken) host_memory(w, kHost);
         return memory_left(w.model);
       }},
  };
}

std::vector<RuleCase> cases() {
  std::vector<RuleCase> all = allocating_cases();
  for (const auto& cases : {freeing_cases(), host_cases(), left_cases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}
const ListedCases kListed(cases);

TEST(Memory, NothingIsSureWhereOthersAllocateUnseen) {
  World w;
  w.model.platform().complete = false;
  w.plain(kPlain);
  w.accept(calls::MemFree{.dptr = kPlain});
  for (const CUdeviceptr address : {kPlain, kPlain + 512, kPlain + kPlainSize}) {
    const Violations found = check(w.model, calls::MemFree{.dptr = address});
    ASSERT_EQ(found.size(), 1u);
    EXPECT_FALSE(found.front().certain);
  }
}

TEST(Memory, ADoubleFreeNamesWhoMadeAndWhoFreedIt) {
  World w;
  w.plain(kPlain);                           // call 1
  w.accept(calls::MemFree{.dptr = kPlain});  // call 2
  const Violations found = check(w.model, calls::MemFreeAsync{.dptr = kPlain});
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found.front().objects.size(), 1u);
  EXPECT_EQ(found.front().objects[0].kind, ObjectRef::Kind::kMemory);
  EXPECT_EQ(found.front().objects[0].made.call, 1u);
  EXPECT_EQ(found.front().objects[0].ended.call, 2u);
}

// cuMemAlloc had the address first, then a pool: the second free concerns the memory that ended
// last.
TEST(Memory, OfTwoThatEndedThereTheLastIsNamed) {
  World w;
  w.plain(kPlain);
  w.accept(calls::MemFree{.dptr = kPlain});
  pooled(w, kPlain);
  w.accept(calls::MemFree{.dptr = kPlain});
  const Violations found = check(w.model, calls::MemFree{.dptr = kPlain});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().objects.at(0).kind, ObjectRef::Kind::kPoolMemory);
}

TEST(Memory, AnInteriorPointerIsNamedWithItsOffset) {
  World w;
  w.plain(kPlain);
  const Violations found = check(w.model, calls::MemFree{.dptr = kPlain + 4096});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found.front().message, ::testing::HasSubstr("is 4 KiB into [0x500000000000, "));
}

}  // namespace
}  // namespace cuvmm::testing::check_memory_test
