// SPDX-License-Identifier: Apache-2.0
// Every other function of NVML answers NOT_SUPPORTED, as a GPU does that lacks the feature; clients
// ask for what they would like to know and expect that. The stubs are weak, so that a real
// definition in another file takes their place.
#include "emulator/nvml/error.h"
#include "emulator/nvml/start.h"

namespace cuvmm::nvml {

// The C calling convention lets a function ignore arguments it was passed.
#define CUVMM_NVML_NAME(index, symbol)                    \
  extern "C" __attribute__((weak, visibility("default"))) \
  Error nvml_stub_##index() __asm__(#symbol);             \
  extern "C" Error nvml_stub_##index() { return started() ? kNotSupported : kUninitialized; }
#include "nvml_symbols.inc"

}  // namespace cuvmm::nvml
