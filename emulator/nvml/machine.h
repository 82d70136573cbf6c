// SPDX-License-Identifier: Apache-2.0
// The machine that NVML describes: the one that the emulator's libcuda emulates. Both read the same
// variables and the same profile, each for itself: asking libcuda would start the driver in a
// process that may want to fork first, which is why PyTorch asks NVML.
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
  const Profile& profile() const { return profile_; }
  std::uint64_t device_memory() const { return device_memory_; }  ///< bytes, of each
  /// The value that cuDeviceGetAttribute has; 0 where it has none.
  int attribute(int number) const;
  bool reaches(int device, int peer) const;
  /// By its index, which must be valid.
  Handle handle(int device) const { return &devices_[device]; }
  /// -1 when it is no handle of a device.
  int index(Handle handle) const;
  /// Why there is none; empty when all is well.
  const std::string& error() const { return error_; }

  /// Read once, from the environment.
  static const Machine& get();

 private:
  Machine();
  Profile profile_;
  int device_count_ = 0;
  std::uint64_t device_memory_ = 0;
  std::string error_;
  char devices_[kMaxDevices] = {};  // their addresses are the handles
};

/// body(machine), nvmlInit or not; no exception leaves.
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
