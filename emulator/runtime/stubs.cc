// SPDX-License-Identifier: Apache-2.0
// Every symbol of the real library that no other file here defines: it reports its name once on
// stderr and answers cudaErrorNotSupported. The stubs are weak, so that a definition in another
// file replaces them.
#include <atomic>
#include <cstdio>

#include "emulator/base/run_file.h"
#include "emulator/base/say.h"
#include "emulator/runtime/error.h"

namespace cuvmm::runtime {

namespace {

Error not_supported(std::atomic<bool>& said, const char* symbol) {
  if (!said.exchange(true)) {
    char text[256];
    std::snprintf(text, sizeof text, "%s is not emulated; it answers cudaErrorNotSupported",
                  symbol);
    emulator::note(text);
    emulator::tell_not_emulated(symbol);
  }
  return keep(cudaErrorNotSupported);
}

}  // namespace

// The C calling convention lets a function ignore its arguments.
#define CUVMM_RUNTIME_NAME(index, symbol)                 \
  extern "C" __attribute__((weak, visibility("default"))) \
  Error runtime_stub_##index() __asm__(#symbol);          \
  extern "C" Error runtime_stub_##index() {               \
    static std::atomic<bool> said{false};                 \
    return not_supported(said, #symbol);                  \
  }
#include "runtime_symbols.inc"

}  // namespace cuvmm::runtime
