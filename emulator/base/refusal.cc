// SPDX-License-Identifier: Apache-2.0
#include "emulator/base/refusal.h"

#include <cstdio>

#include "emulator/base/life.h"
#include "emulator/base/run_file.h"
#include "emulator/base/say.h"

namespace cuvmm::emulator {

CUresult refuse_once(std::atomic<bool>& printed, const char* what) noexcept {
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  if (!printed.exchange(true)) {
    char text[256];
    std::snprintf(text, sizeof text, "%s is not emulated; it answers CUDA_ERROR_NOT_SUPPORTED",
                  what);
    note(text);
    tell_not_emulated(what);
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace cuvmm::emulator
