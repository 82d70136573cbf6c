// SPDX-License-Identifier: Apache-2.0
// What tells emulated devices apart. The same in every process and in every library of the emulator
// (libcuda, libnvidia-ml), so that programs can match what one says of a device to the other.
#pragma once

#include <cstring>

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

}  // namespace cuvmm::emulator
