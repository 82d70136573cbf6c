// SPDX-License-Identifier: Apache-2.0
// How the runtime library defines one of its symbols. Own declarations throughout: CUDA 12 and 13
// declare some functions and structures differently, and one source is both libraries.
#pragma once

#include "emulator/runtime/calls/context.h"
#include "emulator/runtime/driver.h"
#include "emulator/runtime/error.h"

/// CUVMM_RUNTIME_SYMBOL(int, cudaFoo, int* out) { body }: the function cudaFoo, exported by the
/// libraries whose table (runtime_symbols.txt) has it.
#define CUVMM_RUNTIME_SYMBOL(type, symbol, ...)        \
  extern "C" __attribute__((visibility("default")))    \
  type runtime_##symbol(__VA_ARGS__) __asm__(#symbol); \
  type runtime_##symbol(__VA_ARGS__)

/// The same for what returns a cudaError_t; the body remembers it (see in_context, in_driver).
#define CUVMM_RUNTIME_FUNCTION(symbol, ...) CUVMM_RUNTIME_SYMBOL(Error, symbol, __VA_ARGS__)

#define CUVMM_UNPACK(...) __VA_ARGS__

/// CUVMM_RUNTIME_CALL(cudaFoo, (out), int* out) { body }: cudaFoo in the thread's context, made
/// first where there is none. The body returns its Error and calls through `driver`.
#define CUVMM_RUNTIME_CALL(symbol, arguments, ...)                  \
  static Error body_##symbol(const Driver& driver, __VA_ARGS__);    \
  CUVMM_RUNTIME_FUNCTION(symbol, __VA_ARGS__) {                     \
    return in_context(Streams::kLegacy, [&](const Driver& driver) { \
      return body_##symbol(driver, CUVMM_UNPACK arguments);         \
    });                                                             \
  }                                                                 \
  static Error body_##symbol([[maybe_unused]] const Driver& driver, __VA_ARGS__)

/// The same, and cudaFoo_ptsz (or _ptds) beside it, for which stream 0 is the thread's own: its
/// `driver` has the functions that mean so.
#define CUVMM_RUNTIME_ON_STREAM(symbol, suffix, arguments, ...)        \
  static Error body_##symbol(const Driver& driver, __VA_ARGS__);       \
  CUVMM_RUNTIME_FUNCTION(symbol, __VA_ARGS__) {                        \
    return in_context(Streams::kLegacy, [&](const Driver& driver) {    \
      return body_##symbol(driver, CUVMM_UNPACK arguments);            \
    });                                                                \
  }                                                                    \
  CUVMM_RUNTIME_FUNCTION(symbol##_##suffix, __VA_ARGS__) {             \
    return in_context(Streams::kPerThread, [&](const Driver& driver) { \
      return body_##symbol(driver, CUVMM_UNPACK arguments);            \
    });                                                                \
  }                                                                    \
  static Error body_##symbol([[maybe_unused]] const Driver& driver, __VA_ARGS__)
