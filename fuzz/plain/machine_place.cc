// SPDX-License-Identifier: Apache-2.0
// Finds the addresses and lengths of an op, and the block of a pointer that a driver gave.
#include <algorithm>

#include "fuzz/plain/extent.h"
#include "fuzz/plain/machine.h"

namespace cuvmm::fuzz::plain {

Machine::Spot Machine::spot(std::uint8_t ref, std::uint8_t at) const {
  Spot out;
  out.name = ref % kBlocks;
  if (out.name == 0) {
    out.address = pick(kNowhere, at);
    const auto buffer = reinterpret_cast<std::uint64_t>(buffer_);
    if (out.address == kPageableBuffer) out.address = buffer;
    if (out.address == kGuardPage) out.address = buffer - kPage;
    return out;
  }
  const Block& block = blocks_[out.name];
  const std::uint64_t base = block.device, end = base + block.size;
  const Place& place = pick(kPlaces, at);
  std::uint64_t from = base;
  if (place.anchor == Anchor::kMiddle) from = base + block.size / 2;
  if (place.anchor == Anchor::kEnd) from = end;
  if (place.anchor == Anchor::kEnd512) from = up(end, 512);
  if (place.anchor == Anchor::kEnd4K) from = up(end, 4096);
  if (place.anchor == Anchor::kEnd64K) from = up(end, 65536);
  if (place.anchor == Anchor::kEnd2M) from = up(end, kGranule);
  out.address = from + static_cast<std::uint64_t>(place.distance);
  out.offset = out.address - base;
  out.inside = out.offset < block.size;
  out.near = out.offset < block.size || (out.offset == 0);
  out.by_layout = place.anchor >= Anchor::kEnd4K && block.kind != Kind::kMapped;
  return out;
}

void Machine::describe(const Spot& at, Step& step) const {
  const Block& block = blocks_[at.name];
  step.kind = at.name ? block.kind : Kind::kNone;
  if (at.name == 0) return;
  step.dead = !block.live;
  // Freed memory may belong to another allocation by now, and so may memory beside a block.
  step.outside =
      block.live ? !at.near || at.by_layout : block.died != allocations_ || at.offset != 0;
}

std::uint64_t Machine::length(const Spot& at, std::uint8_t index) const {
  const Length& length = pick(kLengths, index);
  const Block& block = blocks_[at.name];
  const std::uint64_t size = at.name ? block.size : 65536;
  const std::uint64_t rest = at.offset < size ? size - at.offset : 0;
  switch (length.of) {
    case Length::kRest:
      return rest + length.bytes;
    case Length::kHalf:
      return rest / 2 + length.bytes;
    case Length::kToPage:
      return up(at.address + rest, 4096) - at.address + length.bytes;
    case Length::kTo64K:
      return up(at.address + rest, 65536) - at.address + length.bytes;
    case Length::kTo2M:
      return up(at.address + rest, kGranule) - at.address + length.bytes;
    default:
      return length.bytes;
  }
}

std::uint32_t Machine::pointer_value(std::uint64_t pointer, unsigned first) const {
  if (pointer == 0) return 0;
  const auto in = [&](unsigned name) -> std::uint32_t {
    const Block& block = blocks_[name];
    if (name == 0 || block.kind == Kind::kNone) return 0;
    for (const std::uint64_t base : {block.device, block.host, block.region}) {
      if (base && pointer >= base && pointer - base < std::max<std::uint64_t>(1, block.size)) {
        const bool host = base == block.host && base != block.device;
        return 0x80000000u | (name << 24) | static_cast<std::uint32_t>(pointer - base) |
               (host ? 0x40000000u : 0u);
      }
    }
    return 0;
  };
  if (const std::uint32_t value = in(first)) return value;
  for (unsigned name = 1; name < kBlocks; ++name) {
    if (!blocks_[name].live) continue;
    if (const std::uint32_t value = in(name)) return value;
  }
  return 0x7ffffff0;  // elsewhere
}

}  // namespace cuvmm::fuzz::plain
