// SPDX-License-Identifier: Apache-2.0
// Every public symbol of the driver that nothing else here defines: it names itself once and
// answers NOT_SUPPORTED. The stubs are weak, so that a real definition in another file takes their
// place.
#include <cuda.h>

#include "emulator/base/refusal.h"
#include "emulator/core/log.h"

namespace cuvmm::emulator {

// The C calling convention lets a function ignore arguments it was passed.
#define CUVMM_DRIVER_SYMBOL(symbol)                       \
  extern "C" __attribute__((weak, visibility("default"))) \
  CUresult stub_##symbol() __asm__(#symbol);              \
  extern "C" CUresult stub_##symbol() {                   \
    static std::atomic<bool> said{false};                 \
    return logged(#symbol, refuse_once(said, #symbol));   \
  }
#include "emulator/driver_symbols.inc"

}  // namespace cuvmm::emulator
