// SPDX-License-Identifier: Apache-2.0
// Tests the reference's opinion of single calls, without the emulator.
#include "fuzz/reference/reference.h"

#include <gtest/gtest.h>

namespace cuvmm::fuzz {
namespace {

constexpr CUdeviceptr kBase = 0x700000000000;

class ReferenceTest : public testing::Test {
 protected:
  ReferenceTest() {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  }
  void reserve(std::uint64_t granules) {
    CUdeviceptr base = kBase;
    EXPECT_EQ(reference_.accept(calls::MemAddressReserve{&base, granules * kGranule, 0, 0, 0}),
              nullptr);
  }
  void create(CUmemGenericAllocationHandle handle, std::uint64_t granules) {
    EXPECT_EQ(reference_.accept(calls::MemCreate{&handle, granules * kGranule, &prop_, 0}),
              nullptr);
  }
  bool legal(const auto& call) const { return reference_.judge(call, Actor{0}).legal(); }
  bool breaks(const auto& call, Rule rule) const {
    return reference_.judge(call, Actor{0}).breaks(rule);
  }

  Reference reference_{{.devices = 2, .device_memory = 8 * kGranule, .charge = true}};
  CUmemAllocationProp prop_{};
};

TEST_F(ReferenceTest, AMappingNeedsAVacantPlaceInAReservation) {
  reserve(4);
  create(0x100, 2);
  const calls::MemMap call{kBase + kGranule, 2 * kGranule, 0, 0x100, 0};
  EXPECT_TRUE(legal(call));
  EXPECT_EQ(reference_.accept(call), nullptr);
  EXPECT_TRUE(breaks(call, Rule::kMapVacant));
  EXPECT_TRUE(breaks(calls::MemMap{kBase + 3 * kGranule, 2 * kGranule, 0, 0x100, 0},
                     Rule::kMapInsideReservation));
  EXPECT_TRUE(
      breaks(calls::MemMap{kBase - kGranule, 2 * kGranule, 0, 0x100, 0}, Rule::kMapPtrReserved));
  EXPECT_TRUE(breaks(calls::MemAddressFree{kBase, 4 * kGranule}, Rule::kFreeUnmapped));
  EXPECT_TRUE(breaks(calls::MemUnmap{kBase + kGranule, kGranule}, Rule::kUnmapWhole));
  EXPECT_TRUE(breaks(calls::MemUnmap{kBase, 4 * kGranule}, Rule::kUnmapMapped));
  EXPECT_TRUE(legal(calls::MemUnmap{kBase + kGranule, 2 * kGranule}));
}

TEST_F(ReferenceTest, MemoryLivesUntilItsLastReferenceAndMapping) {
  reserve(1);
  create(0x100, 1);
  ASSERT_EQ(reference_.accept(calls::MemMap{kBase, kGranule, 0, 0x100, 0}), nullptr);
  ASSERT_EQ(reference_.accept(calls::MemRelease{0x100}), nullptr);
  EXPECT_TRUE(breaks(calls::MemRelease{0x100}, Rule::kReleasePairing));
  CUmemAllocationProp properties{};
  EXPECT_TRUE(breaks(calls::MemGetAllocationPropertiesFromHandle{&properties, 0x100},
                     Rule::kPropertiesHandleReferenced));
  CUmemGenericAllocationHandle retained = 0x100;
  const calls::MemRetainAllocationHandle retain{&retained, reinterpret_cast<void*>(kBase + 5)};
  EXPECT_TRUE(legal(retain));
  ASSERT_EQ(reference_.accept(retain), nullptr);
  EXPECT_TRUE(legal(calls::MemRelease{0x100}));
  ASSERT_EQ(reference_.accept(calls::MemRelease{0x100}), nullptr);
  ASSERT_EQ(reference_.accept(calls::MemUnmap{kBase, kGranule}), nullptr);
  EXPECT_TRUE(breaks(calls::MemGetAllocationPropertiesFromHandle{&properties, 0x100},
                     Rule::kPropertiesHandleAlive));
  retained = 0x200;
  EXPECT_TRUE(breaks(retain, Rule::kRetainAddrMapped));
}

TEST_F(ReferenceTest, DataNeedsTheAccessOfItsDevice) {
  reserve(2);
  create(0x100, 1);
  ASSERT_EQ(reference_.accept(calls::MemMap{kBase, kGranule, 0, 0x100, 0}), nullptr);
  EXPECT_TRUE(breaks(calls::MemsetD8{kBase, 1, 4}, Rule::kDataWritable));
  CUmemAccessDesc desc{};
  desc.location = prop_.location;
  desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const calls::MemSetAccess access{kBase, kGranule, &desc, 1};
  EXPECT_TRUE(legal(access));
  ASSERT_EQ(reference_.accept(access, Profile{}), nullptr);
  EXPECT_TRUE(legal(calls::MemsetD8{kBase, 1, 4}));
  EXPECT_TRUE(reference_.judge(calls::MemsetD8{kBase, 1, 4}, Actor{1}).breaks(Rule::kDataWritable));
  EXPECT_TRUE(breaks(calls::MemsetD8{kBase + kGranule - 2, 1, 4}, Rule::kDataMapped));
  EXPECT_TRUE(reference_.judge(calls::MemsetD8{kBase, 1, 4}, Actor{-1}).breaks(Rule::kDataContext));
  ASSERT_EQ(reference_.accept(calls::MemsetD16{kBase, 0x0201, 2}), nullptr);
  unsigned char bytes[4] = {1, 2, 1, 2};
  EXPECT_EQ(reference_.accept(calls::MemcpyDtoH{bytes, kBase, 4}), nullptr);
  bytes[3] = 9;
  EXPECT_STREQ(reference_.accept(calls::MemcpyDtoH{bytes, kBase, 4}),
               "a byte is not what was written there");
}

TEST_F(ReferenceTest, AliasesShareTheirBytes) {
  reserve(2);
  create(0x100, 1);
  ASSERT_EQ(reference_.accept(calls::MemMap{kBase, kGranule, 0, 0x100, 0}), nullptr);
  ASSERT_EQ(reference_.accept(calls::MemMap{kBase + kGranule, kGranule, 0, 0x100, 0}), nullptr);
  ASSERT_EQ(reference_.accept(calls::MemsetD8{kBase + 7, 5, 1}), nullptr);
  unsigned char byte = 5;
  EXPECT_TRUE(reference_.knows(calls::MemcpyDtoH{&byte, kBase + kGranule + 7, 1}));
  EXPECT_FALSE(reference_.knows(calls::MemcpyDtoH{&byte, kBase + kGranule + 8, 1}));
  EXPECT_EQ(reference_.accept(calls::MemcpyDtoH{&byte, kBase + kGranule + 7, 1}), nullptr);
}

// Plain memory of one process, as a reference for another process sees it opened.
class OpenedTest : public ReferenceTest {
 protected:
  void allocate() {
    CUdeviceptr base = kBase;
    ASSERT_EQ(reference_.accept(calls::MemAlloc{&base, kGranule}, Actor{0}), nullptr);
    ASSERT_EQ(reference_.accept(calls::IpcGetMemHandle{&handle_, base}), nullptr);
  }
  calls::IpcOpenMemHandle open_at(CUdeviceptr address) {
    address_ = address;
    return {&address_, handle_, 1};
  }
  bool others(const auto& call, Rule rule) const {
    return other_.judge(call, Actor{0}).breaks(rule);
  }

  Reference other_{{.devices = 2, .device_memory = 8 * kGranule, .charge = true}, reference_};
  CUipcMemHandle handle_{};
  CUdeviceptr address_ = 0;
};

TEST_F(OpenedTest, AHandleIsGoodWhileItsMemoryLives) {
  EXPECT_TRUE(others(open_at(0), Rule::kIpcOpenHandleValid));
  allocate();
  EXPECT_TRUE(other_.judge(open_at(0), Actor{0}).legal());
  EXPECT_TRUE(breaks(open_at(0), Rule::kIpcOpenOtherProcess));
  ASSERT_EQ(reference_.accept(calls::MemFree{kBase}), nullptr);
  EXPECT_TRUE(others(open_at(0), Rule::kIpcOpenAlive));
  allocate();  // a driver may give the same bytes for the memory that lies there now
  EXPECT_TRUE(other_.judge(open_at(0), Actor{0}).legal());
}

TEST_F(OpenedTest, EachContextHasOneAddressForIt) {
  allocate();
  const CUdeviceptr there = kBase + 4 * kGranule, elsewhere = kBase + 6 * kGranule;
  ASSERT_EQ(other_.accept(open_at(there), Actor{0}), nullptr);
  EXPECT_EQ(other_.accept(open_at(there), Actor{0}), nullptr);
  EXPECT_STREQ(other_.accept(open_at(elsewhere), Actor{0}),
               "memory that is open here has another address now");
  EXPECT_EQ(other_.accept(open_at(elsewhere), Actor{1}), nullptr);
  EXPECT_EQ(other_.opened(), (std::vector<std::uint64_t>{there, there, there, elsewhere}));
  EXPECT_TRUE(breaks(calls::MemFree{kBase}, Rule::kIpcFreedWhileOpen));
  EXPECT_TRUE(others(calls::MemFree{there}, Rule::kIpcFreeInstead));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(other_.judge(calls::IpcCloseMemHandle{there}, Actor{0}).legal());
    ASSERT_EQ(other_.accept(calls::IpcCloseMemHandle{there}), nullptr);
  }
  EXPECT_TRUE(others(calls::IpcCloseMemHandle{there}, Rule::kIpcClosePairing));
  EXPECT_TRUE(others(calls::IpcCloseMemHandle{elsewhere + 1}, Rule::kIpcCloseOpened));
}

TEST_F(ReferenceTest, WhatADeviceHasRunsOut) {
  create(0x100, 6);
  EXPECT_TRUE(breaks(calls::MemCreate{nullptr, 3 * kGranule, &prop_, 0}, Rule::kCreateFits));
  prop_.location.id = 1;
  EXPECT_FALSE(breaks(calls::MemCreate{nullptr, 3 * kGranule, &prop_, 0}, Rule::kCreateFits));
}

TEST_F(ReferenceTest, AcceptsWhatTheProfileSaysOfTheBrokenRules) {
  const Profile profile = load_profile("h200-580.159.04").profile;
  Judgement judgement;
  EXPECT_TRUE(judgement.accepts(profile, EntryPoint::kMemMap, CUDA_SUCCESS));
  EXPECT_FALSE(judgement.accepts(profile, EntryPoint::kMemMap, CUDA_ERROR_INVALID_VALUE));
  judgement.add(Rule::kMapOffsetZero);
  EXPECT_TRUE(judgement.accepts(profile, EntryPoint::kMemMap, CUDA_ERROR_NOT_SUPPORTED));
  EXPECT_FALSE(judgement.accepts(profile, EntryPoint::kMemMap, CUDA_SUCCESS));
  EXPECT_FALSE(judgement.crashes(profile, EntryPoint::kMemMap));
  judgement.add(Rule::kMapHandleAlive);
  EXPECT_TRUE(judgement.crashes(profile, EntryPoint::kMemMap));
}

}  // namespace
}  // namespace cuvmm::fuzz
