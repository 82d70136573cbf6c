// SPDX-License-Identifier: Apache-2.0
// How the emulator refuses a function that it lacks: it names the function on stderr, once.
#pragma once

#include <cuda.h>

#include <atomic>

namespace cuvmm::emulator {

/// Answers NOT_SUPPORTED; the first call also says on stderr that `what` is not emulated.
CUresult refuse_once(std::atomic<bool>& printed, const char* what) noexcept;

}  // namespace cuvmm::emulator
