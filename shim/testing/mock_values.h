// SPDX-License-Identifier: Apache-2.0
// What a mock driver hands out in tests of sessions.
#pragma once

#include <cuda.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>

namespace cuvmm::shim {

inline constexpr CUdeviceptr kBase = 0x700000000000;    ///< a reservation
inline constexpr CUdeviceptr kOpened = 0x720000000000;  ///< another process's memory
inline const auto kPool = reinterpret_cast<CUmemoryPool>(std::uintptr_t{0x7000});

/// The call succeeds, and gives this by its first argument.
template <class Value>
auto answers(const Value& value) {
  return ::testing::DoAll(::testing::SetArgPointee<0>(value), ::testing::Return(CUDA_SUCCESS));
}

/// Less than any wait takes, and more than any should.
inline constexpr std::chrono::milliseconds kSoon{1}, kLong{60'000};

}  // namespace cuvmm::shim
