// SPDX-License-Identifier: Apache-2.0
// Hides devices from the processes that start while a VisibleDevices lives, for cases that need an
// exact number of them.
#pragma once

#include <optional>
#include <string>

namespace cuvmm::conformance {

/// The first `count` entries of a CUDA_VISIBLE_DEVICES list; "0,1,..." where there is no list.
std::string first_devices(const char* visible, int count);

/// While this object lives, a driver that a forked process initialises finds `count` devices:
/// NVIDIA's driver by CUDA_VISIBLE_DEVICES, the emulator by CUVMM_DEVICES. Only for a caller with
/// one thread.
class VisibleDevices {
 public:
  explicit VisibleDevices(int count);
  VisibleDevices(const VisibleDevices&) = delete;
  VisibleDevices& operator=(const VisibleDevices&) = delete;
  ~VisibleDevices();

 private:
  std::optional<std::string> visible_before_, emulated_before_;
};

}  // namespace cuvmm::conformance
