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

calls::MemAllocPitch pitched() {
  return {.dptr = &outs.address,
          .pPitch = &outs.pitch,
          .WidthInBytes = 100,
          .Height = 4,
          .ElementSizeBytes = 4};
}
calls::MemAllocManaged managed() {
  return {.dptr = &outs.address, .bytesize = 64, .flags = CU_MEM_ATTACH_GLOBAL};
}

template <class CallStruct>
Violations look(const World& w, const CallStruct& call, bool context = true) {
  return check(w.model, call, with_context(context));
}

std::vector<RuleCase> allocating_cases() {
  return {
      {Rule::kMemoryContext,
       [](World& w, bool broken) {
         return look(w, calls::MemAlloc{.dptr = &outs.address, .bytesize = 1}, !broken);
       }},
      {Rule::kMemoryContext, [](World& w, bool broken) { return look(w, pitched(), !broken); }},
      {Rule::kMemoryContext, [](World& w, bool broken) { return look(w, managed(), !broken); }},
      {Rule::kMemoryContext,  // a created stream has a context of its own
       [](World& w, bool broken) {
         return look(
             w,
             calls::MemAllocAsync{
                 .dptr = &outs.address, .bytesize = 1, .hStream = broken ? nullptr : stream(0x77)},
             false);
       }},
      {Rule::kMemoryContext,
       [](World& w, bool broken) {
         return look(w, calls::MemAllocHost{.pp = &outs.pointer, .bytesize = 1}, !broken);
       }},
      {Rule::kMemoryContext,
       [](World& w, bool broken) {
         return look(w, calls::MemHostAlloc{.pp = &outs.pointer, .bytesize = 1}, !broken);
       }},
      {Rule::kMemoryContext,
       [](World& w, bool broken) {
         return look(w, calls::MemHostRegister{.p = host(kHost), .bytesize = 1}, !broken);
       }},
      {Rule::kMemoryContext,  // a query for neither value needs no context
       [](World& w, bool broken) {
         return look(
             w, calls::MemGetAddressRange{.base = broken ? &outs.address : nullptr, .dptr = kPlain},
             false);
       }},
      {Rule::kMemoryOutNonnull,
       [](World& w, bool broken) {
         return look(w, calls::MemAlloc{.dptr = broken ? nullptr : &outs.address, .bytesize = 1});
       }},
      {Rule::kMemoryOutNonnull,
       [](World& w, bool broken) {
         auto call = pitched();
         if (broken) call.pPitch = nullptr;
         return look(w, call);
       }},
      {Rule::kMemoryOutNonnull,
       [](World& w, bool broken) {
         return look(w,
                     calls::MemAllocAsync{.dptr = broken ? nullptr : &outs.address, .bytesize = 1});
       }},
      {Rule::kMemoryOutNonnull,
       [](World& w, bool broken) {
         return look(w, calls::MemAllocHost{.pp = broken ? nullptr : &outs.pointer, .bytesize = 0});
       }},
      {Rule::kMemoryOutNonnull,
       [](World& w, bool broken) {
         return look(w, calls::MemHostAlloc{.pp = broken ? nullptr : &outs.pointer});
       }},
      {Rule::kMemorySizeNonzero,
       [](World& w, bool broken) {
         return look(w, calls::MemAlloc{.dptr = &outs.address, .bytesize = broken ? 0u : 1u});
       }},
      {Rule::kMemorySizeNonzero,
       [](World& w, bool broken) {
         auto call = pitched();
         if (broken) call.Height = 0;
         return look(w, call);
       }},
      {Rule::kMemorySizeNonzero,
       [](World& w, bool broken) {
         auto call = managed();
         if (broken) call.bytesize = 0;
         return look(w, call);
       }},
      {Rule::kMemorySizeNonzero,
       [](World& w, bool broken) {
         return look(w, calls::MemHostRegister{.p = host(kHost), .bytesize = broken ? 0u : 1u});
       }},
      {Rule::kMemoryFlags,
       [](World& w, bool broken) {
         auto call = managed();
         call.flags = broken ? 3 : CU_MEM_ATTACH_HOST;
         return look(w, call);
       }},
      {Rule::kMemoryFlags,
       [](World& w, bool broken) {
         return look(w, calls::MemHostAlloc{.pp = &outs.pointer, .Flags = broken ? 8u : 7u});
       }},
      {Rule::kMemoryFlags,
       [](World& w, bool broken) {
         return look(w, calls::MemHostRegister{
                            .p = host(kHost), .bytesize = 1, .Flags = broken ? 16u : 15u});
       }},
      {Rule::kPitchElement,
       [](World& w, bool broken) {
         auto call = pitched();
         call.ElementSizeBytes = broken ? 2 : 16;
         return look(w, call);
       }},
  };
}

std::vector<RuleCase> freeing_cases() {
  return {
      {Rule::kFreeKnown,
       [](World& w, bool broken) {
         w.plain(kPlain);
         return look(w, calls::MemFree{.dptr = broken ? kPlain + kPlainSize : kPlain});
       }},
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
      {Rule::kFreeOnce,
       [](World& w, bool broken) {
         host_memory(w, kHost);
         if (broken) w.accept(calls::MemFreeHost{.p = host(kHost)});
         return look(w, calls::MemFreeHost{.p = host(kHost)});
       }},
      {Rule::kFreeOnce,  // plain memory ends with its context; memory of a pool does not
       [](World& w, bool broken) {
         broken ? w.plain(kPlain) : pooled(w, kPlain);
         w.accept(calls::CtxDestroy{.ctx = reinterpret_cast<CUcontext>(std::uintptr_t{7})});
         return look(w, calls::MemFree{.dptr = kPlain});
       }},
      {Rule::kFreeBase,
       [](World& w, bool broken) {
         w.plain(kPlain);
         return look(w, calls::MemFree{.dptr = broken ? kPlain + 512 : kPlain});
       }},
      {Rule::kFreeBase,
       [](World& w, bool broken) {
         pooled(w, kPlain);
         return look(w, calls::MemFreeAsync{.dptr = broken ? kPlain + kPlainSize - 1 : kPlain});
       }},
      {Rule::kFreeBase,
       [](World& w, bool broken) {
         host_memory(w, kHost);
         return look(w, calls::MemFreeHost{.p = host(broken ? kHost + 8 : kHost)});
       }},
      {Rule::kFreeFunction,
       [](World& w, bool broken) {
         host_memory(w, kHost);
         w.plain(kPlain);
         return look(w, calls::MemFree{.dptr = broken ? kHost : kPlain});
       }},
      {Rule::kFreeFunction,
       [](World& w, bool broken) {
         host_memory(w, kHost);
         w.plain(kPlain);
         return look(w, calls::MemFreeHost{.p = host(broken ? kPlain : kHost)});
       }},
      {Rule::kFreeFunction,  // memory of a pool is device memory
       [](World& w, bool broken) {
         pooled(w, kPlain);
         return broken ? look(w, calls::MemFreeHost{.p = host(kPlain)})
                       : look(w, calls::MemFree{.dptr = kPlain});
       }},
      {Rule::kFreeFunction,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         host_memory(w, kHost);
         return look(w, calls::MemFreeHost{.p = host(broken ? kBase : kHost)});
       }},
      {Rule::kFreeFunction,
       [](World& w, bool broken) {
         enroll(w, kHost);
         return broken ? look(w, calls::MemFreeHost{.p = host(kHost)})
                       : look(w, calls::MemHostUnregister{.p = host(kHost)});
       }},
      {Rule::kStreamAlive,
       [](World& w, bool broken) {
         pooled(w, kPlain);
         w.accept(calls::StreamDestroy{.hStream = stream(0x77)});
         return look(w, calls::MemFreeAsync{.dptr = kPlain, .hStream = stream(broken ? 0x77 : 0)});
       }},
      {Rule::kStreamAlive,
       [](World& w, bool broken) {
         w.accept(calls::StreamDestroy{.hStream = stream(0x77)});
         return look(
             w, calls::MemAllocAsync{
                    .dptr = &outs.address, .bytesize = 1, .hStream = stream(broken ? 0x77 : 0x78)});
       }},
      {Rule::kStreamAlive,
       [](World& w, bool broken) {
         if (broken) w.accept(calls::StreamDestroy{.hStream = stream(0x77)});
         return look(w, calls::StreamDestroy{.hStream = stream(0x77)});
       }},
      {Rule::kStreamDestroyNamed,
       [](World& w, bool broken) {
         return look(w, calls::StreamDestroy{.hStream = stream(broken ? 1 : 0x77)});
       }},
  };
}

std::vector<RuleCase> host_cases() {
  return {
      {Rule::kHostPointerNonnull,
       [](World& w, bool broken) {
         return look(w, calls::MemHostRegister{.p = host(broken ? 0 : kHost), .bytesize = 1});
       }},
      {Rule::kHostPointerNonnull,
       [](World& w, bool broken) {
         enroll(w, kHost);
         return look(w, calls::MemHostUnregister{.p = host(broken ? 0 : kHost)});
       }},
      {Rule::kRegisterOnce,
       [](World& w, bool broken) {
         enroll(w, kHost);
         const Address at = broken ? kHost + kPlainSize - 1 : kHost + kPlainSize;
         return look(w, calls::MemHostRegister{.p = host(at), .bytesize = 64});
       }},
      {Rule::kRegisterOnce,  // a range that begins in front of registered memory
       [](World& w, bool broken) {
         enroll(w, kHost);
         return look(w,
                     calls::MemHostRegister{.p = host(kHost - 64), .bytesize = broken ? 65u : 64u});
       }},
      {Rule::kRegisterPageable,
       [](World& w, bool broken) {
         host_memory(w, kHost);
         return look(w, calls::MemHostRegister{.p = host(broken ? kHost + 8 : kHost + kPlainSize),
                                               .bytesize = 64});
       }},
      {Rule::kUnregisterKnown,
       [](World& w, bool broken) {
         enroll(w, kHost);
         if (broken) w.accept(calls::MemHostUnregister{.p = host(kHost)});
         return look(w, calls::MemHostUnregister{.p = host(kHost)});
       }},
      {Rule::kUnregisterBase,
       [](World& w, bool broken) {
         enroll(w, kHost);
         return look(w, calls::MemHostUnregister{.p = host(broken ? kHost + 1 : kHost)});
       }},
      {Rule::kUnregisterFunction,
       [](World& w, bool broken) {
         broken ? host_memory(w, kHost) : enroll(w, kHost);
         return look(w, calls::MemHostUnregister{.p = host(kHost)});
       }},
      {Rule::kUnregisterFunction,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         enroll(w, kHost);
         return look(w, calls::MemHostUnregister{.p = host(broken ? kBase : kHost)});
       }},
      {Rule::kAddressRangeAccess,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         if (broken) w.access(kBase, 1, 0);
         return look(w, calls::MemGetAddressRange{.base = &outs.address, .dptr = kBase + 5});
       }},
      {Rule::kAddressRangeAccess,
       [](World& w, bool broken) {
         w.mapped(kBase, 1);
         w.reserve(kBase + kGranule, 1);
         return look(w, calls::MemGetAddressRange{.base = &outs.address,
                                                  .dptr = broken ? kBase + kGranule : kBase});
       }},
      {Rule::kPointerSetValue,
       [](World& w, bool broken) {
         static const unsigned on = 1;
         w.plain(kPlain);
         return look(w, calls::PointerSetAttribute{.value = broken ? nullptr : &on,
                                                   .attribute = CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                                   .ptr = kPlain});
       }},
      {Rule::kPointerSetKnown,
       [](World& w, bool broken) {
         static const unsigned on = 1;
         pooled(w, kPlain);
         if (broken) w.accept(calls::MemFreeAsync{.dptr = kPlain});
         return look(w, calls::PointerSetAttribute{.value = &on,
                                                   .attribute = CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                                   .ptr = kPlain + 1});
       }},
      {Rule::kPointerSetNotVmm,
       [](World& w, bool broken) {
         static const unsigned on = 1;
         w.mapped(kBase, 1);
         w.plain(kPlain);
         return look(w, calls::PointerSetAttribute{.value = &on,
                                                   .attribute = CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                                   .ptr = broken ? kBase : kPlain});
       }},
      {Rule::kPointerSetAttributeKnown,
       [](World& w, bool broken) {
         static const unsigned on = 1;
         w.plain(kPlain);
         return look(
             w, calls::PointerSetAttribute{.value = &on,
                                           .attribute = broken ? CU_POINTER_ATTRIBUTE_MAPPED
                                                               : CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                           .ptr = kPlain});
       }},
  };
}

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
