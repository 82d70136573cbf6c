// SPDX-License-Identifier: Apache-2.0
// The emulated GPUs: how much memory each has, and how much of it allocations hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cuvmm::emulator {

/// All sizes in bytes. A device is named by its number, which must be valid().
class Devices {
 public:
  void open(int count, std::uint64_t memory) {
    devices_.assign(static_cast<std::size_t>(count), Device{memory, 0});
  }

  void limit(int device, std::uint64_t memory) {
    devices_[static_cast<std::size_t>(device)].total = memory;
  }

  int count() const { return static_cast<int>(devices_.size()); }
  bool valid(int device) const { return device >= 0 && device < count(); }
  std::uint64_t total(int device) const { return of(device).total; }
  std::uint64_t used(int device) const { return of(device).used; }
  std::uint64_t free(int device) const {
    return of(device).total - std::min(used(device), total(device));
  }
  /// The counter of the device's bytes in use: an allocation adds its size while it lives.
  std::uint64_t* account(int device) { return &devices_[static_cast<std::size_t>(device)].used; }

 private:
  struct Device {
    std::uint64_t total = 0;
    std::uint64_t used = 0;
  };
  const Device& of(int device) const { return devices_[static_cast<std::size_t>(device)]; }

  std::vector<Device> devices_;
};

}  // namespace cuvmm::emulator
