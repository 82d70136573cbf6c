// SPDX-License-Identifier: Apache-2.0
// The memory of the emulated machine, as kernels of a context reach it.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "emulator/core/emulator.h"
#include "kernels/kernels.h"

namespace cuvmm::emulator {

/// A kernel's access needs the conditions of a copy on the device: memory mapped or allocated at
/// the address, and rights of the context's device. Lives under the emulator's lock.
class DeviceMemory : public kernels::Memory {
 public:
  DeviceMemory(Emulator& e, const Context& context) : e_(e), context_(context) {}

  std::string why_not(std::uint64_t address, unsigned size, bool writes) override;
  /// Whether memory lies at an address, which the device may be able to use or not.
  bool holds(std::uint64_t address) const {
    const Window all = rights(address);
    return all.end > all.begin;
  }
  kernels::Named<kernels::Texture> texture(std::uint64_t handle) override;
  kernels::Named<kernels::Image> surface(std::uint64_t handle) override;

 private:
  Window find(std::uint64_t address) override;
  /// The rights of the device at an address; `begin` and `end` are the bounds of the memory object,
  /// whose bytes are not yet looked up.
  Window rights(std::uint64_t address) const;
  bool reaches(const PlainAllocation& memory) const;

  Emulator& e_;
  const Context& context_;
  // The objects that the launch has used, and why an object cannot be used.
  std::map<std::uint64_t, std::pair<kernels::Texture, std::string>> textures_;
  std::map<std::uint64_t, std::pair<kernels::Image, std::string>> surfaces_;
};

}  // namespace cuvmm::emulator
