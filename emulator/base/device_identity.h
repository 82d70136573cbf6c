// SPDX-License-Identifier: Apache-2.0
// The numbers and names that identify emulated devices. They are equal in every process and in
// every library of the emulator (libcuda, libnvidia-ml), so that programs can match the devices of
// one library with those of another.
#pragma once

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "rulebook/base/limits.h"

namespace cuvmm::emulator {

/// PCI buses as a board with eight GPUs numbers them: domain 0, device 0, each GPU on its own bus.
inline unsigned pci_bus(int device) {
  const auto n = static_cast<unsigned>(device);
  // The buses of the next sixteen lie between those of the first.
  return (0x18 + 0x10 * n + n / 16) & 0xff;
}

inline constexpr int kUuidBytes = 16;
/// The UUID of the fabric that all devices are on.
inline constexpr char kClusterUuid[kUuidBytes + 1] = "cuvmm's fabric 0";

/// Writes a UUID of version 8, which RFC 9562 leaves to each vendor's own format.
inline void write_uuid(int device, void* out) {
  unsigned char bytes[kUuidBytes] = {'c', 'u', 'v', 'm', 'm', 0, 0x80, 0, 0x80};
  bytes[kUuidBytes - 1] = static_cast<unsigned char>(device);
  std::memcpy(out, bytes, sizeof bytes);
}

/// The UUID in the form of nvidia-smi and CUDA_VISIBLE_DEVICES:
/// "GPU-6375766d-6d00-8000-8000-000000000000".
inline std::string uuid_text(int device) {
  unsigned char bytes[kUuidBytes];
  write_uuid(device, bytes);
  std::string text = "GPU";
  for (int i = 0; i < kUuidBytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

/// Which devices of the machine this process sees, and the numbers that they have in it. Bytes that
/// cross processes, and names that identify a device, use the machine's number; everything else
/// uses the process's. A machine may be a rack of several hosts: a process sees devices of its own
/// host only.
class VisibleDevices {
 public:
  static constexpr int kMost = kMaxMachineDevices;
  constexpr VisibleDevices() { show(nullptr, 0); }
  /// Shows the `count` devices of the machine in `devices`; all devices of the machine where
  /// `count` is 0. `first` is the machine's number of the host's first device.
  constexpr void show(const int* devices, int count, int host = 0, int first = 0) {
    host_ = host;
    first_ = first;
    for (int i = 0; i < kMost; ++i) {
      own_[i] = count == 0 ? i : -1;
      machine_[i] = count == 0 ? i : (i < count ? devices[i] : -1);
    }
    for (int i = 0; i < count; ++i) own_[devices[i]] = i;
  }
  /// The machine's number of the process's device, and the process's number of the machine's; -1
  /// where no such device is visible.
  constexpr int of_machine(int own) const { return known(own) ? machine_[own] : -1; }
  constexpr int own(int of_machine) const { return known(of_machine) ? own_[of_machine] : -1; }
  /// The host's number of the process's device, and the process's number of the host's; -1 as
  /// above.
  constexpr int of_host(int own) const { return known(own) ? machine_[own] - first_ : -1; }
  constexpr int own_of_host(int of_host) const { return own(first_ + of_host); }
  /// The host that the process runs on, 0 if the machine is a single host.
  constexpr int host() const { return host_; }

 private:
  static constexpr bool known(int device) { return device >= 0 && device < kMost; }
  std::array<int, kMost> own_{}, machine_{};
  int host_ = 0, first_ = 0;
};
/// The visible devices of this process; cuInit writes them once.
inline constinit VisibleDevices g_visible;

}  // namespace cuvmm::emulator
