// SPDX-License-Identifier: Apache-2.0
// What tests may rely on of shim/testing/fake_driver.cc.
#pragma once

#include <cuda.h>

inline constexpr size_t kFakeGranularity = 2 << 20;
/// cuMemMap of the fake driver raises SIGSEGV on it.
inline constexpr CUmemGenericAllocationHandle kDeadlyHandle = 0xdead;
