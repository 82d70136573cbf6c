// SPDX-License-Identifier: Apache-2.0
// The thread's device and its context, which the runtime makes current without a call by the
// program.
#pragma once

#include "emulator/runtime/driver.h"

namespace cuvmm::runtime {

/// Keeps a context that the program made current; else retains the primary context of the thread's
/// device, once per process and device, and makes it current.
Error bind_context(const Driver& driver);

/// Makes `device` the thread's device and its primary context current.
Error use_device(const Driver& driver, int device);

/// The device of the thread's current context; without one, the device whose context it would get.
int current_device(const Driver& driver);

/// The primary context of a device, which this library retains.
Error primary_context(const Driver& driver, int device, CUcontext& out);

/// Ends the primary context of the thread's device; the next call creates it again.
Error reset_device(const Driver& driver);

/// Runs body(driver) after the driver has started, and remembers its error.
template <class Body>
Error in_driver(Streams streams, Body&& body) {
  Error error = cudaSuccess;
  const Driver* driver = driver_for(streams, error);
  return keep(driver ? body(*driver) : error);
}

/// Runs body(driver) likewise, with a context current.
template <class Body>
Error in_context(Streams streams, Body&& body) {
  return in_driver(streams, [&](const Driver& driver) {
    Error error = bind_context(driver);
    if (error == cudaSuccess) error = refused_before();
    return error == cudaSuccess ? body(driver) : error;
  });
}

}  // namespace cuvmm::runtime
