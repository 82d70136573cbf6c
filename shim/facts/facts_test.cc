// SPDX-License-Identifier: Apache-2.0
#include "shim/facts/facts.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/driver/mock_driver.h"
#include "shim/facts/host_memory.h"

namespace cuvmm::shim {
namespace {
using ::testing::_;
using ::testing::DoAll;
using ::testing::NiceMock;
using ::testing::Return;
using ::testing::SetArgPointee;

CUcontext context(std::uintptr_t number) { return reinterpret_cast<CUcontext>(number); }

// The current context belongs to device 1; stream 0x500 belongs to the context of device 0.
class StreamsDevice : public ::testing::Test {
 protected:
  StreamsDevice() {
    ON_CALL(mock_, CtxGetCurrent(_)).WillByDefault([this](CUcontext* out) {
      *out = current_;
      return CUDA_SUCCESS;
    });
    ON_CALL(mock_, StreamGetCtx(_, _))
        .WillByDefault(DoAll(SetArgPointee<1>(context(0x10)), Return(CUDA_SUCCESS)));
    ON_CALL(mock_, CtxPushCurrent(_)).WillByDefault([this](CUcontext pushed) {
      before_ = current_;
      current_ = pushed;
      return CUDA_SUCCESS;
    });
    ON_CALL(mock_, CtxPopCurrent(_)).WillByDefault([this](CUcontext*) {
      current_ = before_;
      return CUDA_SUCCESS;
    });
    ON_CALL(mock_, CtxGetDevice(_)).WillByDefault([this](CUdevice* out) {
      *out = current_ == context(0x11) ? 1 : 0;
      return CUDA_SUCCESS;
    });
  }
  int device(bool copy) {
    Facts::Place place;
    FactFinder(mock_.driver(), false).find_device(reinterpret_cast<CUstream>(0x500), copy, place);
    return place.device;
  }

  NiceMock<MockDriver> mock_;
  CUcontext current_ = context(0x11), before_ = nullptr;
};

TEST_F(StreamsDevice, ACopyIsTheCurrentContexts) { EXPECT_EQ(device(true), 1); }

TEST_F(StreamsDevice, AFillIsTheStreams) { EXPECT_EQ(device(false), 0); }

TEST_F(StreamsDevice, WithoutACurrentContextACopyIsTheStreams) {
  current_ = nullptr;
  EXPECT_EQ(device(true), 0);
}

class PageableMemory : public ::testing::Test {
 protected:
  PageableMemory() {
    ON_CALL(mock_, DeviceGetCount(_))
        .WillByDefault(DoAll(SetArgPointee<0>(2), Return(CUDA_SUCCESS)));
    ON_CALL(mock_, DeviceGetAttribute(_, _, _)).WillByDefault([this](int* out, auto, int device) {
      *out = device == reaches_;
      return answer_;
    });
  }
  bool reached() { return FactFinder(mock_.driver(), false).any_device_reaches_pageable(); }

  NiceMock<MockDriver> mock_;
  int reaches_ = -1;
  CUresult answer_ = CUDA_SUCCESS;
};

TEST_F(PageableMemory, MayBeReachedByAnotherDeviceThanTheCurrentContexts) {
  EXPECT_FALSE(reached());
  reaches_ = 1;
  EXPECT_TRUE(reached());
}

TEST_F(PageableMemory, CountsAsReachedIfTheDriverDoesNotSay) {
  answer_ = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_TRUE(reached());
}

// Pages of a device, as of memory that a driver has page-locked, cannot be read by another way than
// the program's own; those of this test have no permissions.
TEST(UnmappedMemory, IsNotTheSameAsUnreadableMemory) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const at = ::mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  const auto address = reinterpret_cast<std::uintptr_t>(at) + 8;
  EXPECT_FALSE(host_can_read(address));
  EXPECT_FALSE(FactFinder::unmapped(address));
  ASSERT_EQ(::munmap(at, page), 0);
  EXPECT_TRUE(FactFinder::unmapped(address));
}

}  // namespace
}  // namespace cuvmm::shim
