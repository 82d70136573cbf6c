// SPDX-License-Identifier: Apache-2.0
// Every public symbol of the driver that no other file here defines: it reports its name once on
// stderr and answers NOT_SUPPORTED. The stubs are weak, so that a definition in another file
// replaces them.
#include <cuda.h>

#include "emulator/base/refusal.h"
#include "emulator/core/log.h"

namespace cuvmm::emulator {

// The C calling convention lets a function ignore its arguments.
#define CUVMM_DRIVER_SYMBOL(symbol)                        \
  extern "C" __attribute__((weak, visibility("default")))  \
  CUresult stub_##symbol() __asm__(#symbol);               \
  extern "C" CUresult stub_##symbol() {                    \
    static std::atomic<bool> printed{false};               \
    return logged(#symbol, refuse_once(printed, #symbol)); \
  }
#include "emulator/driver_symbols.inc"

}  // namespace cuvmm::emulator
