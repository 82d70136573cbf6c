// SPDX-License-Identifier: Apache-2.0
// The values that a mock driver returns in tests of sessions.
#pragma once

#include <cuda.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>

namespace cuvmm::shim {

inline constexpr CUdeviceptr kBase = 0x700000000000;    ///< a reservation
inline constexpr CUdeviceptr kOpened = 0x720000000000;  ///< another process's memory
inline const auto kPool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x7000});

/// The call succeeds, and returns the value by its first argument.
template <class Value>
auto answers(const Value& value) {
  return ::testing::DoAll(::testing::SetArgPointee<0>(value), ::testing::Return(CUDA_SUCCESS));
}

/// kSoon is less than any wait takes, and kLong is more than any wait should take.
inline constexpr std::chrono::milliseconds kSoon{1}, kLong{60'000};

}  // namespace cuvmm::shim
