// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/memory/host_blocks.h"

#include <sys/mman.h>

namespace cuvmm::emulator {

const HostBlock* HostBlocks::at(Address address) const {
  auto found = blocks_.upper_bound(address);
  if (found == blocks_.begin()) return nullptr;
  --found;
  return address - found->first < found->second.size ? &found->second : nullptr;
}

bool HostBlocks::begins_in(Address base, Size size) const {
  const auto next = blocks_.lower_bound(base);
  return next != blocks_.end() && next->first - base < size;
}

const HostBlock* HostBlocks::find(Address base, bool registered) const {
  const auto found = blocks_.find(base);
  const bool there = found != blocks_.end() && found->second.registered == registered;
  return there ? &found->second : nullptr;
}

void* HostBlocks::allocate(Context& context, Size size, unsigned flags) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  const auto base = reinterpret_cast<Address>(at);
  HostBlock block{base, size, &context, flags, false, next_id_++};
  block.chunk = chunks_.take(&context, size, flags);
  blocks_[base] = block;
  return at;
}

bool HostBlocks::free(Address base) {
  const HostBlock* block = find(base, false);
  if (!block) return false;
  set_aside(base, block->size);
  chunks_.give(block->chunk, block->size);
  blocks_.erase(base);
  return true;
}

// Otherwise the next memory that the emulator itself maps would lie at the freed address, and a
// copy to the freed memory would succeed.
void HostBlocks::set_aside(Address base, Size size) {
  constexpr Size kMostBytes = Size{1} << 30;
  constexpr std::size_t kMost = 256;
  void* const at = reinterpret_cast<void*>(base);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (size > kMostBytes || mmap(at, size, PROT_NONE, flags, -1, 0) == MAP_FAILED) {
    munmap(at, size);
    return;
  }
  freed_.emplace_back(base, size);
  freed_bytes_ += size;
  while (freed_bytes_ > kMostBytes || freed_.size() > kMost) {
    const auto [oldest, bytes] = freed_.front();
    munmap(reinterpret_cast<void*>(oldest), bytes);
    freed_bytes_ -= bytes;
    freed_.pop_front();
  }
}

void HostBlocks::lock(Context& context, Address base, Size size, unsigned flags) {
  blocks_[base] = {base, size, &context, flags, true, next_id_++};
}

bool HostBlocks::unlock(Address base) {
  if (!find(base, true)) return false;
  blocks_.erase(base);
  return true;
}

}  // namespace cuvmm::emulator
