// How the emulator refuses what it does not do: by name, once, and never silently.
#pragma once

#include <cuda.h>

#include <atomic>

namespace cuvmm::emulator {

/// NOT_SUPPORTED, saying of `what` on stderr that it is not emulated, the first time.
CUresult refuse_once(std::atomic<bool>& said, const char* what) noexcept;

}  // namespace cuvmm::emulator
