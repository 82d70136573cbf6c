// SPDX-License-Identifier: Apache-2.0
// A device's multiprocessors: their number is the attribute's, and a split leaves groups and a
// remainder.
#include "emulator/testing.h"

namespace cuvmm::emulator::testing {
namespace {

class DeviceResource : public EmulatorTest {
 protected:
  static CUresult get(CUdevResource* out, CUdevResourceType type = CU_DEV_RESOURCE_TYPE_SM) {
    return symbol<CUresult(CUdevice, CUdevResource*, CUdevResourceType)>("cuDeviceGetDevResource")(
        0, out, type);
  }
  static CUresult split(CUdevResource* groups, unsigned* count, const CUdevResource& whole,
                        CUdevResource* rest, unsigned flags, unsigned least) {
    return symbol<CUresult(CUdevResource*, unsigned*, const CUdevResource*, CUdevResource*,
                           unsigned, unsigned)>("cuDevSmResourceSplitByCount")(
        groups, count, &whole, rest, flags, least);
  }
  void SetUp() override {
    EmulatorTest::SetUp();
    ASSERT_OK(get(&whole_));
  }
  CUdevResource whole_{};
};

TEST_F(DeviceResource, IsAllOfTheDevice) {
  int count = 0;
  ASSERT_OK(
      driver()(calls::DeviceGetAttribute{&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0}));
  EXPECT_EQ(whole_.sm.smCount, static_cast<unsigned>(count));
  EXPECT_EQ(get(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(&whole_, CU_DEV_RESOURCE_TYPE_INVALID), CUDA_ERROR_INVALID_RESOURCE_TYPE);
  CUdevResource of_context{};
  auto* of = symbol<CUresult(CUcontext, CUdevResource*, CUdevResourceType)>("cuCtxGetDevResource");
  EXPECT_OK(of(context_, &of_context, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(of_context.sm.smCount, whole_.sm.smCount);
  EXPECT_EQ(of(reinterpret_cast<CUcontext>(0x77), &of_context, CU_DEV_RESOURCE_TYPE_SM),
            CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DeviceResource, IsSplitIntoGroupsAndWhatIsLeft) {
  unsigned count = 0;
  ASSERT_OK(split(nullptr, &count, whole_, nullptr, 0, 2));
  EXPECT_EQ(count, whole_.sm.smCount / 8);
  CUdevResource groups[3] = {};
  CUdevResource rest{};
  count = 3;
  ASSERT_OK(split(groups, &count, whole_, &rest, 0, 9));
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(groups[2].sm.smCount, 16u);
  EXPECT_EQ(rest.sm.smCount, whole_.sm.smCount - 48);
  EXPECT_EQ(split(nullptr, &count, groups[0], nullptr, 0, 2),
            CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  ASSERT_OK(split(nullptr, &count, whole_, nullptr, 1, 2));
  EXPECT_EQ(count, whole_.sm.smCount / 2);
}

TEST_F(DeviceResource, MadeUpOnesAndTooManyAreRefused) {
  unsigned count = 0;
  EXPECT_EQ(split(nullptr, &count, whole_, nullptr, 0, whole_.sm.smCount + 1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(split(nullptr, &count, whole_, nullptr, 64, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(split(nullptr, nullptr, whole_, nullptr, 0, 2), CUDA_ERROR_INVALID_VALUE);
  CUdevResource made_up{};
  EXPECT_EQ(split(nullptr, &count, made_up, nullptr, 0, 2), CUDA_ERROR_INVALID_RESOURCE_TYPE);
  made_up.type = CU_DEV_RESOURCE_TYPE_SM;
  made_up.sm.smCount = 8;
  EXPECT_EQ(split(nullptr, &count, made_up, nullptr, 0, 2), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace cuvmm::emulator::testing
