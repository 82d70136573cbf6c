// SPDX-License-Identifier: Apache-2.0
// The driver's log of calls that it refused, as drivers since CUDA 12.9 keep one whether anybody
// listens or not. It holds the last of them, and callbacks hear of each.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cuvmm::emulator {

/// A refused call goes into the log. `function` lives for ever. Takes no lock.
[[gnu::cold]] void log_refusal(const char* function, CUresult result) noexcept;

/// The answer to a call of this function, which is logged where it is no success.
inline CUresult logged(const char* function, CUresult result) noexcept {
  if (result != CUDA_SUCCESS) [[unlikely]]
    log_refusal(function, result);
  return result;
}

namespace log {

/// How many refusals are kept.
inline constexpr std::uint32_t kKept = 100;

/// CUlogsCallback, which CUDA 12.4's header lacks.
using Callback = void (*)(void* data, int level, char* message, std::size_t length);
/// What identifies it, to be removed again; null where there is no room.
void* add(Callback callback, void* data) noexcept;
bool remove(void* callback) noexcept;

/// The number of the next refusal.
std::uint32_t next() noexcept;
/// Those from number `since` on that are still there, a line each. Throws std::bad_alloc.
std::string lines(std::uint32_t since);

}  // namespace log

}  // namespace cuvmm::emulator
