// How the emulator refuses what it does not do: by name, once, and never silently.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdio>

namespace cuvmm::emulator {

/// NOT_SUPPORTED, saying of `what` on stderr that it is not emulated, the first time.
inline CUresult refuse_once(std::atomic<bool>& said, const char* what) {
  if (!said.exchange(true)) {
    std::fprintf(stderr,
                 "cuvmm emulator: %s is not emulated; it answers CUDA_ERROR_NOT_SUPPORTED\n", what);
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace cuvmm::emulator
