// SPDX-License-Identifier: Apache-2.0
#include "api/driver/mock_driver.h"

#include <gtest/gtest.h>

namespace cuvmm {
namespace {
using testing::DoAll;
using testing::Return;
using testing::SetArgPointee;

TEST(MockDriver, ForwardsArgumentsResultAndOutParameters) {
  testing::StrictMock<MockDriver> mock;
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp prop{};
  EXPECT_CALL(mock, MemCreate(&handle, 4096, &prop, 3))
      .WillOnce(DoAll(SetArgPointee<0>(42), Return(CUDA_ERROR_OUT_OF_MEMORY)));
  EXPECT_EQ(mock.driver()(calls::MemCreate{&handle, 4096, &prop, 3}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(handle, 42u);
}

TEST(MockDriver, EverySymbolOfAnEntryPointLeadsToItsMethod) {
  testing::StrictMock<MockDriver> mock;
  EXPECT_CALL(mock, MemsetD8(0x1000, 7, 16)).Times(2).WillRepeatedly(Return(CUDA_SUCCESS));
  for (Symbol symbol : {Symbol::k_cuMemsetD8_v2, Symbol::k_cuMemsetD8_v2_ptds}) {
    auto fn = reinterpret_cast<calls::MemsetD8::Function>(mock.driver().get(symbol));
    EXPECT_EQ(fn(0x1000, 7, 16), CUDA_SUCCESS);
  }
  // The 32-bit ABI from before CUDA 3.2 is no entry point: callers would pass a mock the wrong
  // arguments.
  EXPECT_EQ(mock.driver().get(Symbol::k_cuMemsetD8), nullptr);
}

TEST(MockDriver, AMethodWithoutParameters) {
  testing::StrictMock<MockDriver> mock;
  EXPECT_CALL(mock, CtxSynchronize()).WillOnce(Return(CUDA_SUCCESS));
  EXPECT_EQ(mock.driver()(Call(calls::CtxSynchronize{})), CUDA_SUCCESS);
}

}  // namespace
}  // namespace cuvmm
