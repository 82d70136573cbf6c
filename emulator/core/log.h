// SPDX-License-Identifier: Apache-2.0
// The driver's log of calls that it refused. Drivers since CUDA 12.9 write such a log whether or
// not a callback is registered. The log holds the newest refusals, and callbacks get each refusal.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace cuvmm::emulator {

/// Adds a refused call to the log. `function` must never be freed. Takes no lock.
[[gnu::cold]] void log_refusal(const char* function, CUresult result) noexcept;

/// Returns `result`, the answer to a call of `function`, and logs it unless it is SUCCESS.
inline CUresult logged(const char* function, CUresult result) noexcept {
  if (result != CUDA_SUCCESS) [[unlikely]]
    log_refusal(function, result);
  return result;
}

namespace log {

/// How many refusals the log holds.
inline constexpr std::uint32_t kLines = 100;

/// CUlogsCallback, which CUDA 12.4's header lacks.
using Callback = void (*)(void* data, int level, char* message, std::size_t length);
/// Returns the callback's identity, by which remove() finds it; null where the table of callbacks
/// is full.
void* add(Callback callback, void* data) noexcept;
bool remove(void* callback) noexcept;

/// The number that the next refusal will get.
std::uint32_t next() noexcept;
/// The refusals from number `since` on that the log still holds, a line each. Throws
/// std::bad_alloc.
std::string lines(std::uint32_t since);

}  // namespace log

}  // namespace cuvmm::emulator
