// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/memory/plain_allocations.h"

#include <utility>

namespace cuvmm::emulator {

const PlainAllocation* PlainAllocations::at(Address address) const {
  auto found = all_.upper_bound(address);
  if (found == all_.begin()) return nullptr;
  --found;
  return address - found->first < found->second.size ? &found->second : nullptr;
}

PlainAllocation* PlainAllocations::add(PlainAllocation&& allocation) {
  const Size into = allocation.offset % kGranule;
  const auto region = space_.take(allocation.size + into, 0, 0);
  if (!region) return nullptr;
  allocation.base = *region + into;
  if (allocation.on_cpu && !allocation.memory.place_at(allocation.base)) {
    space_.give_back(*region, allocation.size + into);
    return nullptr;
  }
  return &put(std::move(allocation));
}

PlainAllocation& PlainAllocations::put(PlainAllocation&& allocation) {
  const Address base = allocation.base;
  return all_.emplace(base, std::move(allocation)).first->second;
}

void PlainAllocations::end(Address base) {
  const auto found = all_.find(base);
  if (found == all_.end()) return;
  give_back(found->second);
  all_.erase(found);
}

void PlainAllocations::give_back(const PlainAllocation& allocation) {
  if (allocation.on_cpu) space_.seal(allocation.base, allocation.memory.size());
  if (!allocation.of_graph) space_.give_back(allocation.region(), allocation.region_size());
}

}  // namespace cuvmm::emulator
