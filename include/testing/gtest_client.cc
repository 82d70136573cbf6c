// SPDX-License-Identifier: Apache-2.0
// Tests that pass, except for two in which cuvmm finds misuse; gtest_client_test.py runs them.
#include <cuda.h>
#include <gtest/gtest.h>

#include "cuvmm/gtest.h"

CUVMM_LISTEN_TO_TESTS;

namespace {

constexpr std::size_t kBytes = 2 << 20;

CUmemGenericAllocationHandle create() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemCreate(&handle, kBytes, &prop, 0), CUDA_SUCCESS);
  return handle;
}

class Memory : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cuInit(0), CUDA_SUCCESS); }
};

TEST_F(Memory, IsReleased) { EXPECT_EQ(cuMemRelease(create()), CUDA_SUCCESS); }

TEST_F(Memory, IsForgotten) { create(); }

TEST_F(Memory, IsUnmappedTwice) {
  CUdeviceptr base = 0;
  ASSERT_EQ(cuMemAddressReserve(&base, kBytes, 0, 0, 0), CUDA_SUCCESS);
  const CUmemGenericAllocationHandle handle = create();
  ASSERT_EQ(cuMemMap(base, kBytes, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  ASSERT_EQ(cuMemUnmap(base, kBytes), CUDA_SUCCESS);
  (void)cuMemUnmap(base, kBytes);
  EXPECT_EQ(cuMemAddressFree(base, kBytes), CUDA_SUCCESS);
}

TEST_F(Memory, MisuseIsExpected) {
  const long expected = cuvmm_expect("cuMemCreate-*", 1);
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_NE(cuMemCreate(&handle, kBytes + 1, &prop, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuvmm_expect_end(expected), 0);
}

}  // namespace
