// SPDX-License-Identifier: Apache-2.0
// Every symbol of the real library that no other file here defines: it reports its name once on
// stderr and answers cudaErrorNotSupported. The stubs are weak, so that a definition in another
// file replaces them.
#include <atomic>
#include <cstdio>

#include "emulator/base/export.h"
#include "emulator/base/run_file.h"
#include "emulator/base/say.h"
#include "emulator/runtime/error.h"

namespace cuvmm::runtime {

namespace {

Error not_supported(const char* symbol, bool first_time) {
  if (first_time) {
    char text[256];
    std::snprintf(text, sizeof text, "%s is not emulated; it answers cudaErrorNotSupported",
                  symbol);
    emulator::note(text);
    emulator::tell_not_emulated(symbol);
  }
  return keep(cudaErrorNotSupported);
}

// Whether this is the first call for this text. False when the table is full.
bool first_call(const char* symbol) {
  static std::atomic<const char*> named[64];
  for (std::atomic<const char*>& one : named) {
    const char* known = nullptr;
    if (one.compare_exchange_strong(known, symbol)) return true;
    if (known == symbol) return false;
  }
  return false;
}

}  // namespace

// The C calling convention lets a function ignore its arguments.
#define CUVMM_RUNTIME_NAME(index, symbol)                   \
  extern "C" __attribute__((weak, visibility("default")))   \
  Error runtime_stub_##index() __asm__(#symbol);            \
  extern "C" Error runtime_stub_##index() {                 \
    static std::atomic<bool> printed{false};                \
    return not_supported(#symbol, !printed.exchange(true)); \
  }
#include "runtime_symbols.inc"

// Called in the place of functions that only a newer runtime has, by programs with that runtime
// inside (emulator/redirect/). `symbol` lasts as long as the process.
CUVMM_EXPORT(Error, cuvmmRuntimeNotSupported, const char* symbol) {
  return not_supported(symbol, first_call(symbol));
}

}  // namespace cuvmm::runtime
