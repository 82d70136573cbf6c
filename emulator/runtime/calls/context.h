// SPDX-License-Identifier: Apache-2.0
// The thread's device and its context, which the runtime makes current by itself.
#pragma once

#include "emulator/runtime/driver.h"

namespace cuvmm::runtime {

/// A context that the program made current is left alone; else the primary context of the thread's
/// device is retained, once per process and device, and made current.
Error bind_context(const Driver& driver);

/// Makes the device the thread's own and its primary context current.
Error use_device(const Driver& driver, int device);

/// The device of the thread's current context, or the one that it would get.
int current_device(const Driver& driver);

/// The primary context of a device, retained by this library.
Error primary_context(const Driver& driver, int device, CUcontext& out);

/// Ends the primary context of the thread's device; the next call makes it anew.
Error reset_device(const Driver& driver);

/// body(driver) with the driver started, and its error remembered.
template <class Body>
Error in_driver(Streams streams, Body&& body) {
  Error error = cudaSuccess;
  const Driver* driver = driver_for(streams, error);
  return keep(driver ? body(*driver) : error);
}

/// The same with a context.
template <class Body>
Error in_context(Streams streams, Body&& body) {
  return in_driver(streams, [&](const Driver& driver) {
    const Error error = bind_context(driver);
    return error == cudaSuccess ? body(driver) : error;
  });
}

}  // namespace cuvmm::runtime
