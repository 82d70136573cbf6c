// SPDX-License-Identifier: Apache-2.0
// The machine that NVML describes: the machine that the emulator's libcuda emulates. Both libraries
// read the environment and the profile independently: a call of libcuda would start the driver in a
// process that may want to fork first, which is why PyTorch uses NVML.
#pragma once

#include <cstdint>
#include <string>

#include "emulator/nvml/error.h"
#include "rulebook/base/limits.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::nvml {

/// nvmlDevice_t, opaque.
using Handle = const void*;

class Machine {
 public:
  int device_count() const { return device_count_; }
  /// The number, by which a UUID is made, that libcuda's machine gives this host's device.
  int of_machine(int device) const { return first_device_ + device; }
  /// Whether the machine is a rack of several hosts, whose fabric has a number.
  bool rack() const { return hosts_ > 1; }
  const Profile& profile() const { return profile_; }
  std::uint64_t device_memory() const { return device_memory_; }  ///< bytes, of each device
  /// The value of cuDeviceGetAttribute; 0 where the device has no value.
  int attribute(int number) const;
  bool reaches(int device, int peer) const;
  /// The handle of a device by its index, which must be valid.
  Handle handle(int device) const { return &devices_[device]; }
  /// The index of a handle; -1 when it is no handle of a device.
  int index(Handle handle) const;
  /// The reason why the machine could not be read; empty when it could.
  const std::string& error() const { return error_; }

  /// The machine of this process, read once from the environment.
  static const Machine& get();

 private:
  Machine();
  Profile profile_;
  int device_count_ = 0;
  int first_device_ = 0;
  int hosts_ = 1;
  std::uint64_t device_memory_ = 0;
  std::string error_;
  char devices_[kMaxDevices] = {};  // their addresses are the handles
};

/// Runs body(machine), also before nvmlInit; no exception leaves.
template <class Body>
Error anytime(Body&& body) noexcept {
  try {
    return body(Machine::get());
  } catch (...) {
    return kMemory;
  }
}

/// "GPU-6375766d-6d00-8000-...".

}  // namespace cuvmm::nvml
