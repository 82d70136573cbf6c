// SPDX-License-Identifier: Apache-2.0
// EXPECT_OK(call), ASSERT_OK(call): the call succeeds; a failure names its code.
#pragma once

#include <gtest/gtest.h>

#include "api/driver/driver.h"

namespace cuvmm {

inline ::testing::AssertionResult is_ok(CUresult result) {
  if (result == CUDA_SUCCESS) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "it answers " << result_name(result);
}

}  // namespace cuvmm

#define EXPECT_OK(...) EXPECT_TRUE(::cuvmm::is_ok(__VA_ARGS__))
#define ASSERT_OK(...) ASSERT_TRUE(::cuvmm::is_ok(__VA_ARGS__))
