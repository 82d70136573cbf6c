// SPDX-License-Identifier: Apache-2.0
// The guard's questions to the driver, in place of the program's.
#include "shim/guard/guard.h"

#include <gmock/gmock.h>

#include "api/driver/mock_driver.h"
#include "shim/testing/mock_values.h"

namespace cuvmm::shim {
namespace {

using testing::_;
using testing::DoAll;
using testing::NiceMock;
using testing::Return;
using testing::SetArgPointee;

constexpr std::size_t kPage = 2 << 20;
constexpr CUdeviceptr kInner = kBase + kPage;

class GuardTest : public testing::Test {
 protected:
  GuardTest() {
    ON_CALL(mock_, MemGetAllocationGranularity(_, _, _))
        .WillByDefault(DoAll(SetArgPointee<0>(kPage), Return(CUDA_SUCCESS)));
  }
  void want(GuardOptions options) {
    guard_ = std::make_unique<Guard>(mock_.driver(), options, false);
  }
  /// Expects that the driver is asked for `outer` bytes, and lets it return kBase.
  CUdeviceptr reserve(std::size_t size, std::size_t outer, std::size_t alignment = 0) {
    EXPECT_CALL(mock_, MemAddressReserve(_, outer, alignment, 0, 0))
        .WillOnce(DoAll(SetArgPointee<0>(kBase), Return(CUDA_SUCCESS)));
    CUdeviceptr base = 0;
    EXPECT_EQ(guard_->make(calls::MemAddressReserve{&base, size, alignment, 0, 0}), CUDA_SUCCESS);
    return base;
  }
  CUresult free(CUdeviceptr base, std::size_t size) {
    return guard_->make(calls::MemAddressFree{base, size});
  }
  std::vector<std::string> missing() {
    std::vector<std::string> messages;
    guard_->tell_missing([&](std::string what) { messages.push_back(std::move(what)); });
    return messages;
  }

  NiceMock<MockDriver> mock_;
  std::unique_ptr<Guard> guard_;
};

TEST_F(GuardTest, AReservationLiesBetweenTwoGuards) {
  want({.guard = true});
  EXPECT_EQ(reserve(4 * kPage, 6 * kPage), kInner);
  EXPECT_CALL(mock_, MemAddressFree(kBase, 6 * kPage)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_EQ(free(kInner, 4 * kPage), CUDA_SUCCESS);
  EXPECT_TRUE(missing().empty());
}

TEST_F(GuardTest, TheGuardIsAsLargeAsTheAlignment) {
  want({.guard = true});
  EXPECT_EQ(reserve(kPage, kPage + 16 * kPage, 8 * kPage), kBase + 8 * kPage);
}

TEST_F(GuardTest, AHintIsForTheProgramsPart) {
  want({.guard = true});
  CUdeviceptr base = 0;
  EXPECT_CALL(mock_, MemAddressReserve(_, 3 * kPage, 0, kInner - kPage, 0))
      .WillOnce(DoAll(SetArgPointee<0>(kInner - kPage), Return(CUDA_SUCCESS)));
  EXPECT_EQ(guard_->make(calls::MemAddressReserve{&base, kPage, 0, kInner, 0}), CUDA_SUCCESS);
  EXPECT_EQ(base, kInner);
}

TEST_F(GuardTest, AHintGoesBeforeAGuard) {
  want({.guard = true});
  CUdeviceptr base = 0;
  EXPECT_CALL(mock_, MemAddressReserve(_, 3 * kPage, 0, kInner - kPage, 0))
      .WillOnce(DoAll(SetArgPointee<0>(kBase + 64 * kPage), Return(CUDA_SUCCESS)));
  EXPECT_CALL(mock_, MemAddressReserve(_, kPage, 0, kInner, 0))
      .WillOnce(DoAll(SetArgPointee<0>(kInner), Return(CUDA_SUCCESS)));
  EXPECT_CALL(mock_, MemAddressFree(kBase + 64 * kPage, 3 * kPage)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_EQ(guard_->make(calls::MemAddressReserve{&base, kPage, 0, kInner, 0}), CUDA_SUCCESS);
  EXPECT_EQ(base, kInner);
  EXPECT_CALL(mock_, MemAddressFree(kInner, kPage)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_EQ(free(kInner, kPage), CUDA_SUCCESS);
  EXPECT_THAT(missing(), testing::ElementsAre(testing::HasSubstr("1 of 1 reservations")));
}

TEST_F(GuardTest, WhereNoGuardFitsTheProgramGetsItsRange) {
  want({.guard = true});
  CUdeviceptr base = 0;
  EXPECT_CALL(mock_, MemAddressReserve(_, 3 * kPage, 0, 0, 0))
      .WillOnce(Return(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_CALL(mock_, MemAddressReserve(&base, kPage, 0, 0, 0))
      .WillOnce(DoAll(SetArgPointee<0>(kBase), Return(CUDA_SUCCESS)));
  EXPECT_EQ(guard_->make(calls::MemAddressReserve{&base, kPage, 0, 0, 0}), CUDA_SUCCESS);
  EXPECT_EQ(base, kBase);
}

TEST_F(GuardTest, WhatIsWrongIsTheDriversToSay) {
  want({.guard = true});
  CUdeviceptr base = 0;
  EXPECT_CALL(mock_, MemAddressReserve(&base, 0, 0, 0, 0))
      .WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(guard_->make(calls::MemAddressReserve{&base, 0, 0, 0, 0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CALL(mock_, MemAddressReserve(&base, kPage, 3, 0, 0))
      .WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(guard_->make(calls::MemAddressReserve{&base, kPage, 3, 0, 0}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_CALL(mock_, MemAddressReserve(nullptr, kPage, 0, 0, 0))
      .WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(guard_->make(calls::MemAddressReserve{nullptr, kPage, 0, 0, 0}),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GuardTest, AWrongFreeStaysWrong) {
  want({.guard = true});
  reserve(4 * kPage, 6 * kPage);
  EXPECT_CALL(mock_, MemAddressFree(kBase, 7 * kPage)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(free(kInner, 5 * kPage), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CALL(mock_, MemAddressFree(kInner + kPage, kPage))
      .WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(free(kInner + kPage, kPage), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free(kBase, 6 * kPage), CUDA_ERROR_INVALID_VALUE) << "the program has no such range";
  EXPECT_CALL(mock_, MemAddressFree(kBase, 6 * kPage)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_EQ(free(kInner, 4 * kPage), CUDA_SUCCESS);
}

TEST_F(GuardTest, NothingIsMappedInAGuard) {
  want({.guard = true});
  reserve(4 * kPage, 6 * kPage);
  EXPECT_CALL(mock_, MemMap(_, _, _, _, _)).Times(0);
  EXPECT_EQ(guard_->make(calls::MemMap{kInner + 4 * kPage, kPage, 0, 1, 0}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(guard_->make(calls::MemMap{kInner + 3 * kPage, 2 * kPage, 0, 1, 0}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_CALL(mock_, MemMap(kInner + 3 * kPage, kPage, 0, 1, 0)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_EQ(guard_->make(calls::MemMap{kInner + 3 * kPage, kPage, 0, 1, 0}), CUDA_SUCCESS);
}

TEST_F(GuardTest, AFreedRangeIsKeptForAWhile) {
  want({.quarantine = 1});
  reserve(kPage, kPage);
  EXPECT_CALL(mock_, MemAddressFree(_, _)).Times(0);
  EXPECT_EQ(free(kBase, kPage), CUDA_SUCCESS);
  EXPECT_EQ(free(kBase, kPage), CUDA_ERROR_INVALID_VALUE) << "twice";
  EXPECT_EQ(guard_->make(calls::MemMap{kBase, kPage, 0, 1, 0}), CUDA_ERROR_INVALID_VALUE);
  testing::Mock::VerifyAndClearExpectations(&mock_);
  EXPECT_CALL(mock_, MemAddressReserve(_, kPage, 0, 0, 0))
      .WillOnce(DoAll(SetArgPointee<0>(kBase + kPage), Return(CUDA_SUCCESS)));
  CUdeviceptr other = 0;
  ASSERT_EQ(guard_->make(calls::MemAddressReserve{&other, kPage, 0, 0, 0}), CUDA_SUCCESS);
  EXPECT_CALL(mock_, MemAddressFree(kBase, kPage)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_EQ(free(other, kPage), CUDA_SUCCESS) << "the oldest leaves";
}

TEST_F(GuardTest, WhatIsMappedIsNotFreed) {
  want({.quarantine = 1});
  reserve(kPage, kPage);
  EXPECT_CALL(mock_, MemMap(kBase, kPage, 0, 1, 0)).WillOnce(Return(CUDA_SUCCESS));
  guard_->make(calls::MemMap{kBase, kPage, 0, 1, 0});
  EXPECT_CALL(mock_, MemAddressFree(kBase, kPage)).WillOnce(Return(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(free(kBase, kPage), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CALL(mock_, MemUnmap(kBase, kPage)).WillOnce(Return(CUDA_SUCCESS));
  guard_->make(calls::MemUnmap{kBase, kPage});
  EXPECT_EQ(free(kBase, kPage), CUDA_SUCCESS);
}

TEST_F(GuardTest, WithoutAddressSpaceTheQuarantineEndsFirst) {
  want({.quarantine = 8});
  reserve(kPage, kPage);
  free(kBase, kPage);
  CUdeviceptr base = 0;
  EXPECT_CALL(mock_, MemAddressReserve(&base, 4 * kPage, 0, 0, 0))
      .WillOnce(Return(CUDA_ERROR_OUT_OF_MEMORY))
      .WillOnce(DoAll(SetArgPointee<0>(kBase), Return(CUDA_SUCCESS)));
  EXPECT_CALL(mock_, MemAddressFree(kBase, kPage)).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_EQ(guard_->make(calls::MemAddressReserve{&base, 4 * kPage, 0, 0, 0}), CUDA_SUCCESS);
  EXPECT_THAT(missing(), testing::ElementsAre(testing::HasSubstr("1 freed ranges")));
}

TEST_F(GuardTest, RangesAreToldAsTheProgramKnowsThem) {
  want({.guard = true, .quarantine = 1});
  reserve(4 * kPage, 6 * kPage);
  ON_CALL(mock_, MemGetAddressRange(_, _, kInner))
      .WillByDefault(
          DoAll(SetArgPointee<0>(kBase), SetArgPointee<1>(6 * kPage), Return(CUDA_SUCCESS)));
  CUdeviceptr start = 0;
  std::size_t size = 0;
  EXPECT_EQ(guard_->make(calls::MemGetAddressRange{&start, &size, kInner}), CUDA_SUCCESS);
  EXPECT_EQ(start, kInner);
  EXPECT_EQ(size, 4 * kPage);
  free(kInner, 4 * kPage);
  EXPECT_CALL(mock_, MemGetAddressRange(_, _, testing::Not(kInner)))
      .WillOnce(Return(CUDA_ERROR_NOT_FOUND));
  EXPECT_EQ(guard_->make(calls::MemGetAddressRange{&start, &size, kInner}), CUDA_ERROR_NOT_FOUND);
}

// --- Poison

class PoisonTest : public GuardTest {
 protected:
  PoisonTest() {
    want({.poison = true});
    ON_CALL(mock_, CtxGetCurrent(_))
        .WillByDefault(
            DoAll(SetArgPointee<0>(reinterpret_cast<CUcontext>(1)), Return(CUDA_SUCCESS)));
    ON_CALL(mock_, CtxGetDevice(_)).WillByDefault(DoAll(SetArgPointee<0>(0), Return(CUDA_SUCCESS)));
    ON_CALL(mock_, MemCreate(_, _, _, _))
        .WillByDefault(DoAll(SetArgPointee<0>(5), Return(CUDA_SUCCESS)));
    CUmemGenericAllocationHandle handle = 0;
    guard_->make(calls::MemCreate{&handle, kPage, nullptr, 0});
    guard_->make(calls::MemMap{kBase, kPage, 0, 5, 0});
  }
  void allow(int device = 0) {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    EXPECT_EQ(guard_->make(calls::MemSetAccess{kBase, kPage, &access, 1}), CUDA_SUCCESS);
  }
  void expect_fill(std::uint32_t pattern) {
    EXPECT_CALL(mock_, MemsetD32Async(kBase, pattern, kPage / 4, _)).WillOnce(Return(CUDA_SUCCESS));
  }
  void expect_none() { EXPECT_CALL(mock_, MemsetD32Async(_, _, _, _)).Times(0); }
};

TEST_F(PoisonTest, FillsWhenAccessIsGrantedFirst) {
  expect_fill(Poison::kNew);
  allow();
  allow();
  EXPECT_TRUE(missing().empty());
}

TEST_F(PoisonTest, FillsAgainWhenTheMemoryEnds) {
  allow();
  testing::Mock::VerifyAndClearExpectations(&mock_);
  guard_->make(calls::MemRelease{5});
  expect_fill(Poison::kEnded);
  guard_->make(calls::MemUnmap{kBase, kPage});
}

TEST_F(PoisonTest, LeavesMemoryThatLivesOn) {
  allow();
  testing::Mock::VerifyAndClearExpectations(&mock_);
  expect_none();
  guard_->make(calls::MemUnmap{kBase, kPage});
  guard_->make(calls::MemMap{kBase, kPage, 0, 5, 0});
  allow();
}

TEST_F(PoisonTest, LeavesSharedMemory) {
  expect_none();
  int descriptor = 0;
  guard_->make(calls::MemExportToShareableHandle{&descriptor, 5,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0});
  allow();
  guard_->make(calls::MemRelease{5});
  guard_->make(calls::MemUnmap{kBase, kPage});
}

TEST_F(PoisonTest, LeavesMemoryWhileAStreamCaptures) {
  expect_none();
  guard_->poison().capturing(nullptr);
  allow();
  EXPECT_THAT(missing(), testing::ElementsAre(testing::HasSubstr("a stream captured")));
}

TEST_F(PoisonTest, LeavesWhatThisContextCannotWrite) {
  expect_none();
  allow(1);
  EXPECT_THAT(missing(), testing::ElementsAre(testing::HasSubstr("no context that may write")));
}

}  // namespace
}  // namespace cuvmm::shim
