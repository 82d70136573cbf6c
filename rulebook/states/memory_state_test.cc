// SPDX-License-Identifier: Apache-2.0
#include "rulebook/states/memory_state.h"

#include <gmock/gmock.h>

#include <iterator>

#include "rulebook/testing/world.h"

namespace cuvmm::testing {
namespace {

using Kind = PlainMemory::Kind;

constexpr Address kAt = 0x5000'0000'0000;
constexpr Size kSome = 4096;

Facts in_context(std::uint64_t context, int device = 0) {
  Facts facts;
  facts.place.context = Facts::Answer::kYes;
  facts.place.context_id = context;
  facts.place.device = device;
  return facts;
}
CUcontext context(std::uint64_t handle) { return reinterpret_cast<CUcontext>(handle); }
void* host(Address address) { return reinterpret_cast<void*>(address); }

struct Memory : World {
  void allocate(Address base, Size size = kSome, const Facts& facts = in_context(7)) {
    CUdeviceptr out = base;
    accept(calls::MemAlloc{.dptr = &out, .bytesize = size}, facts);
  }
  void allocate_host(Address base, const Facts& facts = in_context(7)) {
    void* out = host(base);
    accept(calls::MemHostAlloc{.pp = &out, .bytesize = kSome}, facts);
  }
  void enroll(Address base) {
    accept(calls::MemHostRegister{.p = host(base), .bytesize = kSome}, in_context(7));
  }
  const PlainMemory* live(Address address) const { return model.memory().at(address); }
  bool buried(Address base) const {
    return model.tombstones().find(ObjectRef::Kind::kMemory, base).has_value();
  }
};

TEST(MemoryState, FindsTheMemoryAroundAnAddress) {
  Memory m;
  m.allocate(kAt);
  ASSERT_NE(m.live(kAt + kSome - 1), nullptr);
  EXPECT_EQ(m.live(kAt + kSome - 1)->base, kAt);
  EXPECT_EQ(m.live(kAt)->made.call, 1u);
  EXPECT_EQ(m.live(kAt)->context, 7u);
  EXPECT_EQ(m.live(kAt - 1), nullptr);
  EXPECT_EQ(m.live(kAt + kSome), nullptr);
  EXPECT_EQ(m.model.memory().first_in(kAt - 8, 8), nullptr);
  EXPECT_EQ(m.model.memory().first_in(kAt - 8, 9), m.live(kAt));
}

TEST(MemoryState, CountsWhatOnlyTheEndOfAContextFreed) {
  Memory m;
  m.allocate(kAt);
  m.allocate(kAt + kSome);
  m.allocate(kAt + 2 * kSome, kSome, in_context(8));
  m.accept(calls::MemFree{.dptr = kAt});
  m.enroll(kAt + 3 * kSome);
  m.accept(calls::CtxDestroy{.ctx = context(7)});
  const auto& ended = m.model.memory().ended_with_context();
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(std::next(ended.begin())->first.first, Kind::kRegistered);
  EXPECT_FALSE(m.buried(kAt + 3 * kSome)) << "the pages are the program's own";
  EXPECT_EQ(ended.begin()->first.first, Kind::kDevice);
  EXPECT_EQ(ended.begin()->second.count, 1u);
  EXPECT_EQ(ended.begin()->second.size, kSome);
  EXPECT_EQ(ended.begin()->second.first.call, 2u);
}

TEST(MemoryState, KnowsEachKindByItsCall) {
  Memory m;
  CUdeviceptr out = kAt;
  std::size_t pitch = 512;
  m.accept(calls::MemAllocPitch{.dptr = &out, .pPitch = &pitch, .WidthInBytes = 5, .Height = 3});
  EXPECT_EQ(m.live(kAt + 3 * 512 - 1)->kind, Kind::kPitched);
  out = kAt + 0x10000;
  m.accept(calls::MemAllocManaged{.dptr = &out, .bytesize = 1, .flags = 1});
  EXPECT_EQ(m.live(out)->kind, Kind::kManaged);
  m.allocate_host(kAt + 0x20000);
  EXPECT_EQ(m.live(kAt + 0x20000)->kind, Kind::kHost);
  m.enroll(kAt + 0x30000);
  EXPECT_EQ(m.live(kAt + 0x30000)->kind, Kind::kRegistered);
}

TEST(MemoryState, NothingIsAllocatedOfSizeZero) {
  Memory m;
  void* none = nullptr;
  m.accept(calls::MemAllocHost{.pp = &none, .bytesize = 0});
  EXPECT_TRUE(m.model.memory().all().empty());
}

TEST(MemoryState, EachKindEndsByItsOwnCall) {
  Memory m;
  m.allocate(kAt);
  m.accept(calls::MemFreeHost{.p = host(kAt)});
  m.accept(calls::MemHostUnregister{.p = host(kAt)});
  EXPECT_NE(m.live(kAt), nullptr);
  m.accept(calls::MemFree{.dptr = kAt + 1});
  EXPECT_NE(m.live(kAt), nullptr);
  m.accept(calls::MemFreeAsync{.dptr = kAt});
  EXPECT_EQ(m.live(kAt), nullptr);
  EXPECT_TRUE(m.buried(kAt));
  m.allocate_host(kAt);
  m.accept(calls::MemFree{.dptr = kAt});
  EXPECT_NE(m.live(kAt), nullptr);
  m.accept(calls::MemFreeHost{.p = host(kAt)});
  EXPECT_EQ(m.live(kAt), nullptr);
  m.enroll(kAt);
  m.accept(calls::MemFreeHost{.p = host(kAt)});
  EXPECT_NE(m.live(kAt), nullptr);
  m.accept(calls::MemHostUnregister{.p = host(kAt)});
  EXPECT_EQ(m.live(kAt), nullptr);
}

TEST(MemoryState, ARefusedFreeChangesNothing) {
  Memory m;
  m.allocate(kAt);
  m.refuse(calls::MemFree{.dptr = kAt});
  EXPECT_NE(m.live(kAt), nullptr);
  EXPECT_FALSE(m.buried(kAt));
}

TEST(MemoryState, ARefusedFreeDoesNotPutBackWhatIsTakenAgain) {
  Memory m;
  m.allocate(kAt);
  ChangeOf<calls::MemFree> change;
  const calls::MemFree free{.dptr = kAt};
  m.model.begin(free, m.at(), change);
  m.allocate(kAt, 2 * kSome);
  m.model.undo(free, m.at(), change);
  EXPECT_EQ(m.live(kAt)->size, 2 * kSome);
}

TEST(MemoryState, WhatOthersFreedGivesWay) {
  Memory m;
  m.allocate(kAt);
  m.allocate(kAt + kSome);
  m.allocate(kAt + kSome - 16, 32);
  EXPECT_EQ(m.model.memory().all().size(), 1u);
  EXPECT_EQ(m.live(kAt), nullptr);
}

TEST(MemoryState, MemoryEndsWithItsContext) {
  Memory m;
  m.allocate(kAt, kSome, in_context(7));
  m.allocate(kAt + 0x10000, kSome, in_context(8));
  m.allocate(kAt + 0x20000, kSome, in_context(0, -1));
  m.allocate_host(kAt + 0x30000, in_context(7));
  m.enroll(kAt + 0x40000);
  m.accept(calls::CtxDestroy{.ctx = context(7)});
  EXPECT_EQ(m.live(kAt), nullptr);
  EXPECT_TRUE(m.buried(kAt));
  EXPECT_NE(m.live(kAt + 0x10000), nullptr);
  // The context that ended may have been that of the memory.
  EXPECT_EQ(m.live(kAt + 0x20000), nullptr);
  EXPECT_TRUE(m.buried(kAt + 0x30000));
  // The documentation does not say what happens to registered memory, so it is unknown.
  EXPECT_EQ(m.live(kAt + 0x40000), nullptr);
  EXPECT_FALSE(m.buried(kAt + 0x40000));
}

TEST(MemoryState, AResetEndsTheDevicesMemory) {
  Memory m;
  m.allocate(kAt, kSome, in_context(7, 0));
  m.allocate(kAt + 0x10000, kSome, in_context(8, 1));
  m.accept(calls::DevicePrimaryCtxReset{.dev = 0});
  EXPECT_TRUE(m.buried(kAt));
  EXPECT_NE(m.live(kAt + 0x10000), nullptr);
  m.refuse(calls::DevicePrimaryCtxReset{.dev = 1});
  EXPECT_NE(m.live(kAt + 0x10000), nullptr);
}

TEST(MemoryState, AfterAGreenContextNothingIsSure) {
  Memory m;
  m.allocate(kAt);
  m.accept(calls::GreenCtxDestroy{});
  EXPECT_NE(m.live(kAt), nullptr);
  m.accept(calls::GreenCtxDestroy{.hCtx = reinterpret_cast<CUgreenCtx>(std::uintptr_t{0x99})});
  EXPECT_EQ(m.live(kAt), nullptr);
}

TEST(MemoryState, AStreamIsKnownOnceItIsGone) {
  Memory m;
  const auto stream = reinterpret_cast<CUstream>(std::uintptr_t{0x77});
  const auto has_ended = [&] {
    return m.model.tombstones().find(ObjectRef::Kind::kStream, 0x77).has_value();
  };
  m.refuse(calls::StreamDestroy{.hStream = stream});
  EXPECT_FALSE(has_ended());
  m.accept(calls::StreamDestroy{.hStream = stream});
  EXPECT_TRUE(has_ended());
}

TEST(MemoryState, MemoryOfAnUnknownPoolIsAPoolsAllTheSame) {
  Memory m;
  CUdeviceptr out = kAt;
  m.accept(calls::MemAllocAsync{.dptr = &out, .bytesize = kSome});
  ASSERT_NE(m.model.pools().memory_at(kAt + 5), nullptr);
  EXPECT_EQ(m.model.pools().memory_at(kAt + 5)->pool, 0u);
  EXPECT_EQ(m.live(kAt), nullptr);
  m.accept(calls::MemFree{.dptr = kAt});
  EXPECT_EQ(m.model.pools().memory_at(kAt), nullptr);
}

TEST(MemoryState, HoldsManyAndForgetsTheOldestDead) {
  Memory m;
  constexpr int kMany = 100'000;
  for (int i = 0; i < kMany; ++i) m.allocate(kAt + static_cast<Address>(i) * kSome);
  EXPECT_EQ(m.model.memory().all().size(), static_cast<std::size_t>(kMany));
  for (int i = 0; i < kMany; ++i) {
    m.accept(calls::MemFree{.dptr = kAt + static_cast<Address>(i) * kSome});
  }
  EXPECT_TRUE(m.model.memory().all().empty());
  EXPECT_FALSE(m.buried(kAt));
  EXPECT_TRUE(m.buried(kAt + (kMany - 1) * kSome));
}

}  // namespace
}  // namespace cuvmm::testing
