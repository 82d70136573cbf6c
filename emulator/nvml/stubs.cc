// SPDX-License-Identifier: Apache-2.0
// Every other function of NVML answers NOT_SUPPORTED, as a GPU does that lacks the feature; clients
// expect that answer to optional queries. The stubs are weak, so that a definition in another file
// replaces them.
#include "emulator/nvml/error.h"
#include "emulator/nvml/start.h"

namespace cuvmm::nvml {

// The C calling convention lets a function ignore its arguments.
#define CUVMM_NVML_NAME(index, symbol)                    \
  extern "C" __attribute__((weak, visibility("default"))) \
  Error nvml_stub_##index() __asm__(#symbol);             \
  extern "C" Error nvml_stub_##index() { return started() ? kNotSupported : kUninitialized; }
#include "nvml_symbols.inc"

}  // namespace cuvmm::nvml
