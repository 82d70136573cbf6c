// SPDX-License-Identifier: Apache-2.0
// What tells emulated devices apart. The same in every process and in every library of the emulator
// (libcuda, libnvidia-ml), so that programs can match what one says of a device to the other.
#pragma once

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

namespace cuvmm::emulator {

/// PCI buses as an eight-GPU board numbers them: domain 0, device 0, one bus each.
inline unsigned pci_bus(int device) {
  const auto n = static_cast<unsigned>(device);
  return (0x18 + 0x10 * n + n / 16) & 0xff;  // the next sixteen lie between the first
}

inline constexpr int kUuidBytes = 16;

/// A version 8 (own) UUID.
inline void write_uuid(int device, void* out) {
  unsigned char bytes[kUuidBytes] = {'c', 'u', 'v', 'm', 'm', 0, 0x80, 0, 0x80};
  bytes[kUuidBytes - 1] = static_cast<unsigned char>(device);
  std::memcpy(out, bytes, sizeof bytes);
}

/// As nvidia-smi and CUDA_VISIBLE_DEVICES have it: "GPU-6375766d-6d00-8000-8000-000000000000".
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

/// Which devices of the machine this process sees, by its own numbers of them. What crosses
/// processes, and what identifies a device, names the machine's number; all else the process's.
class VisibleDevices {
 public:
  static constexpr int kMost = 64;
  constexpr VisibleDevices() { show(nullptr, 0); }
  /// All of the machine where `count` is 0.
  constexpr void show(const int* devices, int count) {
    for (int i = 0; i < kMost; ++i) {
      own_[i] = count == 0 ? i : -1;
      machine_[i] = count == 0 ? i : (i < count ? devices[i] : -1);
    }
    for (int i = 0; i < count; ++i) own_[devices[i]] = i;
  }
  /// The machine's number of the process's device; both are -1 where there is none.
  constexpr int of_machine(int own) const { return known(own) ? machine_[own] : -1; }
  constexpr int own(int of_machine) const { return known(of_machine) ? own_[of_machine] : -1; }

 private:
  static constexpr bool known(int device) { return device >= 0 && device < kMost; }
  std::array<int, kMost> own_{}, machine_{};
};
/// Of this process; written once, by cuInit.
inline constinit VisibleDevices g_visible;

}  // namespace cuvmm::emulator
