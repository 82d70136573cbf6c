// SPDX-License-Identifier: Apache-2.0
// How the runtime library defines a function that works in the thread's context.
#pragma once

#include "emulator/base/export.h"
#include "emulator/runtime/calls/context.h"
#include "emulator/runtime/driver.h"
#include "emulator/runtime/error.h"

namespace cuvmm::runtime {

inline CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace cuvmm::runtime

#define CUVMM_UNPACK(...) __VA_ARGS__

/// CUVMM_RUNTIME_CALL(cudaFoo, (out), int* out) { body }: cudaFoo in the thread's context, which is
/// made first where the thread has none. The body returns its Error and calls the driver through
/// `driver`.
#define CUVMM_RUNTIME_CALL(symbol, arguments, ...)                  \
  static Error body_##symbol(const Driver& driver, __VA_ARGS__);    \
  CUVMM_EXPORT(Error, symbol, __VA_ARGS__) {                        \
    return in_context(Streams::kLegacy, [&](const Driver& driver) { \
      return body_##symbol(driver, CUVMM_UNPACK arguments);         \
    });                                                             \
  }                                                                 \
  static Error body_##symbol([[maybe_unused]] const Driver& driver, __VA_ARGS__)

/// Defines cudaFoo likewise, and cudaFoo_ptsz (or _ptds) beside it, for which stream 0 is the
/// thread's own: its `driver` has the functions for per-thread default streams.
#define CUVMM_RUNTIME_ON_STREAM(symbol, suffix, arguments, ...)        \
  static Error body_##symbol(const Driver& driver, __VA_ARGS__);       \
  CUVMM_EXPORT(Error, symbol, __VA_ARGS__) {                           \
    return in_context(Streams::kLegacy, [&](const Driver& driver) {    \
      return body_##symbol(driver, CUVMM_UNPACK arguments);            \
    });                                                                \
  }                                                                    \
  CUVMM_EXPORT(Error, symbol##_##suffix, __VA_ARGS__) {                \
    return in_context(Streams::kPerThread, [&](const Driver& driver) { \
      return body_##symbol(driver, CUVMM_UNPACK arguments);            \
    });                                                                \
  }                                                                    \
  static Error body_##symbol([[maybe_unused]] const Driver& driver, __VA_ARGS__)
