// SPDX-License-Identifier: Apache-2.0
// What tests may rely on of shim/testing/fake_driver.cc.
#pragma once

#include <cuda.h>

#include <cstdint>

inline constexpr size_t kFakeGranularity = 2 << 20;
/// cuMemMap of the fake driver raises SIGSEGV on it.
inline constexpr CUmemGenericAllocationHandle kDeadlyHandle = 0xdead;
/// cuStreamSynchronize of the fake driver never comes back from it.
inline constexpr std::uintptr_t kBlockingStream = 0xb10c;
/// It is killed by SIGKILL in cuStreamSynchronize.
inline constexpr std::uintptr_t kDeadlyStream = 0xdead;
/// cuStreamSynchronize answers CUDA_ERROR_ILLEGAL_ADDRESS.
inline constexpr std::uintptr_t kFaultyStream = 0xfa17;
