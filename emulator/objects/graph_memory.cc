// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/graph_memory.h"

#include <algorithm>
#include <iterator>

namespace cuvmm::emulator {

namespace {

// The unit in which a pool of an H200 takes memory; whether graphs take the same unit was not
// measured.
Size in_chunks(Size bytes) {
  constexpr Size kChunk = Size{32} << 20;
  return (bytes + kChunk - 1) / kChunk * kChunk;
}

}  // namespace

void GraphMemory::take(int device, Size bytes) {
  Held& held = devices_[device];
  held.used += in_chunks(bytes);
  held.reserved = std::max(held.reserved, held.used);
  held.used_high = std::max(held.used_high, held.used);
  held.reserved_high = std::max(held.reserved_high, held.reserved);
}

void GraphMemory::leave(int device, Size bytes) {
  Held& held = devices_[device];
  held.used -= std::min(held.used, in_chunks(bytes));
}

void GraphMemory::trim(int device) {
  Held& held = devices_[device];
  held.reserved = held.used;
}

std::optional<std::uint64_t> GraphMemory::told(int device, CUgraphMem_attribute which) const {
  const auto found = devices_.find(device);
  const Held held = found == devices_.end() ? Held{} : found->second;
  const std::uint64_t all[] = {held.used, held.used_high, held.reserved, held.reserved_high};
  static_assert(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH == 1 && CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH == 3);
  if (static_cast<unsigned>(which) >= std::size(all)) return std::nullopt;
  return all[which];
}

bool GraphMemory::reset(int device, CUgraphMem_attribute which) {
  Held& held = devices_[device];
  if (which == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) {
    held.used_high = held.used;
  } else if (which == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
    held.reserved_high = held.reserved;
  } else {
    return false;
  }
  return true;
}

}  // namespace cuvmm::emulator
