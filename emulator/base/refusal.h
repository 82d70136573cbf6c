// SPDX-License-Identifier: Apache-2.0
// How the emulator refuses a function that it does not have: it names the function on stderr, once.
#pragma once

#include <cuda.h>

#include <atomic>

namespace cuvmm::emulator {

/// NOT_SUPPORTED, saying of `what` on stderr that it is not emulated, the first time.
CUresult refuse_once(std::atomic<bool>& said, const char* what) noexcept;

}  // namespace cuvmm::emulator
