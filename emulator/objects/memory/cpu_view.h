// SPDX-License-Identifier: Apache-2.0
// The mappings of host memory that the CPU reaches at their addresses.
#pragma once

#include <map>

#include "emulator/machine/address_space.h"
#include "emulator/machine/physical.h"
#include "rulebook/model/model.h"

namespace cuvmm::emulator {

class CpuView {
 public:
  explicit CpuView(AddressSpace& space) : space_(space) {}

  bool empty() const { return shown_.empty(); }
  bool shows(const Mapping& mapping) const { return shown_.contains(mapping.base); }
  /// Maps the memory at the mapping's address with these PROT_* flags; false when the host has no
  /// memory left.
  bool show(const Mapping& mapping, Physical& memory, int protection) {
    if (!memory.map_at(mapping.base, mapping.size, protection)) return false;
    shown_[mapping.base] = mapping.size;
    return true;
  }
  void hide(const Mapping& mapping) {
    if (shown_.erase(mapping.base)) space_.seal(mapping.base, mapping.size);
  }

 private:
  AddressSpace& space_;
  std::map<Address, Size> shown_;
};

}  // namespace cuvmm::emulator
