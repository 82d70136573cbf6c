// SPDX-License-Identifier: Apache-2.0
// The behaviour of shim/testing/fake_driver.cc that tests may rely on.
#pragma once

#include <cuda.h>

#include <cstdint>

inline constexpr size_t kFakeGranularity = 2 << 20;
/// cuMemMap of the fake driver raises SIGSEGV for this handle.
inline constexpr CUmemGenericAllocationHandle kDeadlyHandle = 0xdead;
/// cuStreamSynchronize of the fake driver never returns for this stream.
inline constexpr std::uintptr_t kBlockingStream = 0xb10c;
/// cuStreamSynchronize of the fake driver kills the process by SIGKILL for this stream.
inline constexpr std::uintptr_t kDeadlyStream = 0xdead;
/// cuStreamSynchronize of the fake driver answers CUDA_ERROR_ILLEGAL_ADDRESS for this stream.
inline constexpr std::uintptr_t kFaultyStream = 0xfa17;
