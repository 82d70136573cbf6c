// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/graph_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cuvmm::emulator {

namespace {

// The unit in which a pool of an H200 takes memory; whether graphs take the same unit was not
// measured.
Size in_chunks(Size bytes) {
  constexpr Size kChunk = Size{32} << 20;
  return (bytes + kChunk - 1) / kChunk * kChunk;
}

}  // namespace

std::uint64_t GraphMemory::reserved(int device) const {
  const auto found = devices_.find(device);
  std::uint64_t sum = found == devices_.end() ? 0 : found->second.spare;
  for (const auto& [number, block] : blocks_) {
    if (block.device == device && block.reserved) sum += in_chunks(block.bytes);
  }
  return sum;
}

std::uint64_t GraphMemory::idle(int device) const {
  std::uint64_t sum = reserved(device);
  for (const auto& [number, block] : blocks_) {
    if (block.device == device && block.reserved && block.lives) sum -= in_chunks(block.bytes);
  }
  return sum;
}

std::uint64_t GraphMemory::take(int device, Block&& block) {
  block.device = device;
  blocks_.emplace(++last_, std::move(block));
  use(last_);
  return last_;
}

void GraphMemory::use(std::uint64_t number) {
  Block& block = blocks_.at(number);
  Held& held = devices_[block.device];
  if (!std::exchange(block.reserved, true)) {
    held.spare -= std::min(held.spare, in_chunks(block.bytes));
  }
  const std::uint64_t bytes = reserved(block.device);
  held.used_high = std::max(held.used_high, bytes);
  held.reserved_high = std::max(held.reserved_high, bytes);
}

void GraphMemory::leave(std::uint64_t block) {
  const auto found = blocks_.find(block);
  if (found != blocks_.end()) found->second.owned = false;
}

void GraphMemory::look(const std::function<bool(Address)>& lives) {
  for (auto& [number, block] : blocks_) {
    block.lives = std::any_of(block.allocations.begin(), block.allocations.end(), lives);
    const bool ends = !block.owned && !block.lives;
    if (ends && block.reserved) devices_[block.device].spare += in_chunks(block.bytes);
  }
  std::erase_if(blocks_,
                [](const auto& entry) { return !entry.second.owned && !entry.second.lives; });
}

void GraphMemory::trim(int device) {
  devices_[device].spare = 0;
  for (auto& [number, block] : blocks_) {
    if (block.device == device && !block.lives) block.reserved = false;
  }
}

std::optional<std::uint64_t> GraphMemory::value(int device, CUgraphMem_attribute which) const {
  const auto found = devices_.find(device);
  const Held held = found == devices_.end() ? Held{} : found->second;
  // An H100 counts memory as used as long as the device has it, also when no allocation lives.
  const std::uint64_t bytes = reserved(device);
  const std::uint64_t all[] = {bytes, held.used_high, bytes, held.reserved_high};
  static_assert(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH == 1 && CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH == 3);
  if (static_cast<unsigned>(which) >= std::size(all)) return std::nullopt;
  return all[which];
}

bool GraphMemory::reset(int device, CUgraphMem_attribute which) {
  Held& held = devices_[device];
  if (which == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH) {
    held.used_high = reserved(device);
  } else if (which == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
    held.reserved_high = reserved(device);
  } else {
    return false;
  }
  return true;
}

}  // namespace cuvmm::emulator
