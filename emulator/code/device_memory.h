// SPDX-License-Identifier: Apache-2.0
// The memory of the emulated machine, as kernels of one context reach it.
#pragma once

#include "emulator/core/emulator.h"
#include "kernels/kernels.h"

namespace cuvmm::emulator {

/// An access needs what one of a copy on the device needs: something mapped or allocated there, and
/// rights of the context's device. Lives under the emulator's lock.
class DeviceMemory : public kernels::Memory {
 public:
  DeviceMemory(Emulator& e, const Context& context) : e_(e), context_(context) {}

  std::string why_not(std::uint64_t address, unsigned size, bool writes) override;

 private:
  Window find(std::uint64_t address) override;
  /// What the device may do; `begin` and `end` are where the object lies, before it is asked for
  /// its bytes.
  Window rights(std::uint64_t address) const;
  bool reaches(const PlainAllocation& memory) const;

  Emulator& e_;
  const Context& context_;
};

}  // namespace cuvmm::emulator
