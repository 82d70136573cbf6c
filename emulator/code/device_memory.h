// SPDX-License-Identifier: Apache-2.0
// The memory of the emulated machine, as kernels of a context reach it.
#pragma once

#include "emulator/core/emulator.h"
#include "kernels/kernels.h"

namespace cuvmm::emulator {

/// A kernel's access needs the conditions of a copy on the device: memory mapped or allocated at
/// the address, and rights of the context's device. Lives under the emulator's lock.
class DeviceMemory : public kernels::Memory {
 public:
  DeviceMemory(Emulator& e, const Context& context) : e_(e), context_(context) {}

  std::string why_not(std::uint64_t address, unsigned size, bool writes) override;

 private:
  Window find(std::uint64_t address) override;
  /// The rights of the device at an address; `begin` and `end` are the bounds of the memory object,
  /// whose bytes are not yet looked up.
  Window rights(std::uint64_t address) const;
  bool reaches(const PlainAllocation& memory) const;

  Emulator& e_;
  const Context& context_;
};

}  // namespace cuvmm::emulator
