// SPDX-License-Identifier: Apache-2.0
// How the emulator defines a symbol of libcuda.
#pragma once

#include <cuda.h>

/// CUVMM_DRIVER_FUNCTION(cuFoo, int* out, ...) { body }: the exported function cuFoo. The C++ name
/// differs from the symbol, because <cuda.h> declares and #defines many of them in its own ways.
#define CUVMM_DRIVER_FUNCTION(symbol, ...)                  \
  extern "C" __attribute__((visibility("default")))         \
  CUresult emulated_##symbol(__VA_ARGS__) __asm__(#symbol); \
  CUresult emulated_##symbol([[maybe_unused]] __VA_ARGS__)

/// Exports one more name for a function defined in the same file.
#define CUVMM_DRIVER_ALIAS(symbol, target)                                  \
  extern "C" decltype(emulated_##target) emulated_##symbol __asm__(#symbol) \
      __attribute__((visibility("default"), alias(#target)))
