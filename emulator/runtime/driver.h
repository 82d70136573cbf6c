// SPDX-License-Identifier: Apache-2.0
// The libcuda below the runtime: opened and initialised at the first call that needs it, as
// NVIDIA's runtime does, by dlopen("libcuda.so.1") and cuGetProcAddress.
#pragma once

#include <cudaTypedefs.h>

#include <utility>

#include "api/calls.h"
#include "emulator/runtime/error.h"

namespace cuvmm::runtime {

/// Functions of the driver; null where the driver lacks a function.
struct Driver {
#define CUVMM_DRIVER(name, version) PFN_##name##_v##version name = nullptr;
#define CUVMM_DRIVER_ABI(Entry, name, version) calls::Entry::Function Entry = nullptr;
#include "emulator/runtime/driver_functions.def"
#undef CUVMM_DRIVER
#undef CUVMM_DRIVER_ABI
  PFN_cuGetProcAddress_v12000 ask = nullptr;
};

/// The stream that stream 0 stands for.
enum class Streams { kLegacy = 0, kPerThread = 1 };

/// The functions of the driver for which stream 0 is `streams`, after cuInit. Null, and the reason
/// in `error`, when no driver is found (cudaErrorInsufficientDriver) or it does not start.
/// Thread-safe.
const Driver* driver_for(Streams streams, Error& error);

/// Calls a function of the driver, which may be missing.
template <class Function, class... Args>
Error ask(Function function, Args&&... args) {
  return function ? error_of(function(std::forward<Args>(args)...)) : cudaErrorNotSupported;
}

}  // namespace cuvmm::runtime
