// SPDX-License-Identifier: Apache-2.0
#include "emulator/graph/node_memory.h"

namespace cuvmm::emulator {

NodeMemory::NodeMemory(AddressSpace& space, Address base, Size size, const Pool& pool)
    : space_(space), base_(base), size_(size), pool_(pool.handle()), prop_(pool.prop()) {}

NodeMemory::~NodeMemory() {
  if (reserved_) space_.give_back(base_, size_);
}

bool NodeMemory::hand_out_address() {
  if (!reserved_) {
    const auto taken = space_.take(size_, 0, base_);
    if (taken && *taken != base_) space_.give_back(*taken, size_);
    if (taken != base_) return false;
  }
  reserved_ = false;
  return true;
}

}  // namespace cuvmm::emulator
