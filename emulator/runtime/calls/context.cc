// SPDX-License-Identifier: Apache-2.0
#include "emulator/runtime/calls/context.h"

#include <map>
#include <mutex>

#include "api/lost_context.h"

namespace cuvmm::runtime {

namespace {

struct Primary {
  CUcontext context = nullptr;
  bool retained = false;  ///< false again after a reset
};

// Never destroyed: threads may outlive main.
struct Primaries {
  std::mutex mutex;
  std::map<int, Primary> of_device;
};
Primaries& primaries() {
  static auto& all = *new Primaries;
  return all;
}

thread_local int t_device = 0;

// A thread may still have a context current that another thread's cudaDeviceReset ended.
bool was_reset(CUcontext context) {
  Primaries& all = primaries();
  const std::lock_guard lock(all.mutex);
  for (const auto& [device, primary] : all.of_device) {
    if (primary.context == context) return !primary.retained;
  }
  return false;
}

}  // namespace

Error primary_context(const Driver& driver, int device, CUcontext& out) {
  CUdevice ordinal = 0;
  if (const Error error = ask(driver.cuDeviceGet, &ordinal, device); error != cudaSuccess) {
    return error;
  }
  Primaries& all = primaries();
  const std::lock_guard lock(all.mutex);
  Primary& primary = all.of_device[device];
  if (!primary.retained) {
    const Error error = ask(driver.cuDevicePrimaryCtxRetain, &primary.context, ordinal);
    // A fault has taken the device (an H200). The codes of faults are the driver's.
    if (loses_context(static_cast<CUresult>(error))) return cudaErrorDevicesUnavailable;
    if (error != cudaSuccess) return error;
    primary.retained = true;
  }
  out = primary.context;
  return cudaSuccess;
}

Error use_device(const Driver& driver, int device) {
  CUcontext context = nullptr;
  if (const Error error = primary_context(driver, device, context); error != cudaSuccess) {
    return error;
  }
  t_device = device;
  return ask(driver.cuCtxSetCurrent, context);
}

Error bind_context(const Driver& driver) {
  CUcontext current = nullptr;
  if (const Error error = ask(driver.cuCtxGetCurrent, &current); error != cudaSuccess) return error;
  if (current && !was_reset(current)) return cudaSuccess;
  return use_device(driver, t_device);
}

int current_device(const Driver& driver) {
  CUcontext current = nullptr;
  CUdevice device = 0;
  const bool bound = ask(driver.cuCtxGetCurrent, &current) == cudaSuccess && current;
  return bound && ask(driver.cuCtxGetDevice, &device) == cudaSuccess ? device : t_device;
}

Error reset_device(const Driver& driver) {
  const int device = current_device(driver);
  // Without a driver the function takes no lock, because in a child of fork a thread that does not
  // exist there may hold it.
  CUdevice ordinal = 0;
  if (const Error error = ask(driver.cuDeviceGet, &ordinal, device); error != cudaSuccess) {
    return error;
  }
  Primaries& all = primaries();
  const std::lock_guard lock(all.mutex);
  if (const Error error = ask(driver.cuDevicePrimaryCtxReset, device); error != cudaSuccess) {
    return error;
  }
  Primary& primary = all.of_device[device];
  if (primary.retained) {
    primary.retained = false;
    ask(driver.cuDevicePrimaryCtxRelease, device);
  }
  return ask(driver.cuCtxSetCurrent, nullptr);
}

}  // namespace cuvmm::runtime
