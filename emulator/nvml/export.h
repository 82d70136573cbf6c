// SPDX-License-Identifier: Apache-2.0
// How libnvidia-ml defines one of its symbols. Own declarations throughout: NVML's header is not
// needed to build.
#pragma once

#include "emulator/nvml/error.h"
#include "emulator/nvml/machine.h"

/// CUVMM_NVML_SYMBOL(int, nvmlFoo, int* out) { body }: the exported function nvmlFoo.
#define CUVMM_NVML_SYMBOL(type, symbol, ...)        \
  extern "C" __attribute__((visibility("default"))) \
  type our_##symbol(__VA_ARGS__) __asm__(#symbol);  \
  type our_##symbol(__VA_ARGS__)

/// The same for what returns an nvmlReturn_t.
#define CUVMM_NVML_FUNCTION(symbol, ...) CUVMM_NVML_SYMBOL(Error, symbol, __VA_ARGS__)

/// One more name for a function defined in the same file.
#define CUVMM_NVML_ALIAS(symbol, target)                          \
  extern "C" decltype(our_##target) our_##symbol __asm__(#symbol) \
      __attribute__((visibility("default"), alias(#target)))

namespace cuvmm::nvml {

/// body(machine), nvmlInit or not; no exception leaves.
template <class Body>
Error anytime(Body&& body) noexcept {
  try {
    return body(Machine::get());
  } catch (...) {
    return kMemory;
  }
}

/// The same once nvmlInit was called, and not yet shut down again.
template <class Body>
Error on_machine(Body&& body) noexcept {
  return started() ? anytime(body) : kUninitialized;
}

/// body(machine, index) for a handle of ours.
template <class Body>
Error on_device(Handle handle, Body&& body) noexcept {
  return on_machine([&](const Machine& machine) -> Error {
    const int device = machine.index(handle);
    return device < 0 ? kInvalidArgument : body(machine, device);
  });
}

/// Writes text into a buffer of `size` bytes, its end included.
Error write_text(const char* text, char* out, unsigned size);

}  // namespace cuvmm::nvml
