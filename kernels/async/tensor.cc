// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk.tensor: a box of a tensor's elements, whose place a tensor map describes. The
// copy is there at once, as cp.async.bulk's is.
#include "kernels/async/tensor.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/async/mbarrier.h"
#include "kernels/run/cluster.h"
#include "kernels/run/lanes.h"
#include "kernels/run/warp.h"
#include "kernels/texture/tensor_map.h"

namespace cuvmm::kernels {

namespace {

constexpr unsigned kMost = TensorMap::kMostDimensions;

/// The registers of a copy, in the order of its list; 0: not given.
enum Part : std::uint8_t {
  kMap,
  kMapOffset,
  kShared,
  kSharedOffset,
  kBarrier,
  kBarrierOffset,
  kBlocks,
  kFirstCoordinate,
  kParts = kFirstCoordinate + kMost
};

// The bytes of an element by CUtensorMapDataType; 0: a type that is converted or packed.
unsigned element_bytes(unsigned char type) {
  constexpr unsigned char kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

// Null: the map can be used.
const char* why_unusable(const TensorMap& map, unsigned dimensions) {
  constexpr unsigned kMostSwizzle = 3;
  if (map.kind != TensorMap::kTiled) return "its tensor map is not of cuTensorMapEncodeTiled";
  if (map.rank != dimensions) return "its tensor map has another number of dimensions";
  if (element_bytes(map.type) == 0) return "the type of its tensor map's elements is not known";
  if (map.interleave != 0) return "interleaved tensors are not known";
  if (map.swizzle > kMostSwizzle) return "the swizzle of its tensor map is not known";
  return map.fill != 0 ? "filling with NaN is not known" : nullptr;
}

bool read_map(Warp& warp, const Instruction& i, unsigned lane, std::uint64_t address,
              TensorMap& map) {
  constexpr unsigned kUnit = 8;
  static_assert(sizeof map % kUnit == 0);
  Instruction generic = i;
  generic.space = Space::kNone;
  for (unsigned at = 0; at < sizeof map; at += kUnit) {
    const char* const bytes = warp.at(generic, lane, address + at, kUnit, false);
    if (!bytes) return false;
    std::memcpy(reinterpret_cast<char*>(&map) + at, bytes, kUnit);
  }
  return true;
}

// Units of 16 bytes change places within a pattern of 128 bytes, by the number of the pattern.
std::uint64_t swizzled(std::uint64_t address, unsigned swizzle) {
  const std::uint64_t mask = (std::uint64_t{1} << swizzle) - 1;
  return address ^ ((address >> 7 & mask) << 4);
}

// Copies the box that begins at the coordinates. `shared`: its place in shared memory.
bool copy_box(Warp& warp, const Instruction& i, unsigned lane, const TensorMap& map,
              const std::int64_t (&first)[kMost], std::uint64_t shared, bool loads) {
  Instruction inside = i, outside = i;
  inside.space = Space::kShared;
  outside.space = Space::kGlobal;
  const unsigned size = element_bytes(map.type);
  std::uint64_t counts[kMost] = {1, 1, 1, 1, 1}, all = 1;
  for (unsigned d = 0; d < map.rank; ++d) {
    const std::uint32_t step = d == 0 ? 1 : map.element_strides[d];
    counts[d] = (map.box_size(d) + step - 1) / step;
    all *= counts[d];
  }
  for (std::uint64_t element = 0; element < all; ++element) {
    std::uint64_t left = element, address = map.address;
    bool is_there = true;
    for (unsigned d = 0; d < map.rank; ++d) {
      const std::uint32_t step = d == 0 ? 1 : map.element_strides[d];
      const std::int64_t at = first[d] + static_cast<std::int64_t>(left % counts[d] * step);
      left /= counts[d];
      is_there &= at >= 0 && at <= static_cast<std::int64_t>(map.less_dims[d]);
      address += static_cast<std::uint64_t>(at) *
                 (d == 0 ? size : map.strides[d - 1] * TensorMap::kStrideUnit);
    }
    if (!is_there && !loads) continue;
    char* const here =
        warp.at(inside, lane, swizzled(shared + element * size, map.swizzle), size, loads);
    char* const there = is_there ? warp.at(outside, lane, address, size, !loads) : nullptr;
    if (!here || (is_there && !there)) return false;
    if (!is_there) {
      std::memset(here, 0, size);
    } else {
      std::memcpy(loads ? here : there, loads ? there : here, size);
    }
  }
  return true;
}

std::uint64_t box_bytes(const TensorMap& map) {
  std::uint64_t bytes = element_bytes(map.type);
  for (unsigned d = 0; d < map.rank; ++d) {
    const std::uint32_t step = d == 0 ? 1 : map.element_strides[d];
    bytes *= (map.box_size(d) + step - 1) / step;
  }
  return bytes;
}

// count: dimensions; option 1: from the tensor to shared memory
void copy_tensor(Warp& warp, const Instruction& i, Mask m) {
  const std::vector<std::uint32_t>& slots = warp.code().lists[i.target];
  Instruction barrier = i;
  barrier.space = Space::kShared;
  each_lane(m, [&](unsigned lane) {
    const auto value = [&](unsigned part) { return warp.reg(slots[part])[lane]; };
    TensorMap map;
    if (!read_map(warp, i, lane, value(kMap) + value(kMapOffset), map)) return;
    if (const char* const why = why_unusable(map, i.count))
      return warp.fail(i, lane, CUDA_ERROR_NOT_SUPPORTED,
                       std::string("a copy of a tensor: ") + why);
    std::int64_t first[kMost] = {};
    for (unsigned d = 0; d < i.count; ++d)
      first[d] = static_cast<std::int32_t>(value(kFirstCoordinate + d));
    const std::uint64_t blocks = slots[kBlocks] ? value(kBlocks) & 0xffff : 1;
    for (unsigned rank = 0; rank < 16; ++rank) {
      if (!(blocks >> rank & 1)) continue;
      const auto place = [&](std::uint64_t address) {
        return slots[kBlocks] ? in_block(address, rank) : address;
      };
      const std::uint64_t shared = place(value(kShared) + value(kSharedOffset));
      if (!copy_box(warp, i, lane, map, first, shared, i.option == 1)) return;
      if (i.option != 1) continue;
      char* const counts =
          warp.at(barrier, lane, place(value(kBarrier) + value(kBarrierOffset)), 8, true);
      if (counts) complete_bytes(counts, box_bytes(map));
    }
  });
}

void copies_nothing(Warp&, const Instruction&, Mask) {}

void take_shared(Site& site, std::size_t index, std::vector<std::uint32_t>& slots, Part part) {
  site.address(site.operand(index), Space::kShared);
  Operand offset;
  offset.kind = Operand::Kind::kInteger;
  offset.value = site.out.immediate;
  slots[part] = site.out.a;
  slots[part + 1u] = site.source(offset, Type::kU64);
}

// [map, {x, y}]
void take_tensor(Site& site, std::size_t index, std::vector<std::uint32_t>& slots) {
  const Operand& operand = site.operand(index);
  if (operand.parts.size() != 2 || operand.parts[1].parts.size() != site.out.count)
    return site.refuse("a tensor's coordinates are expected");
  slots[kMap] = site.source(operand.parts[0], Type::kU64);
  for (unsigned d = 0; d < site.out.count; ++d)
    slots[kFirstCoordinate + d] = site.source(operand.parts[1].parts[d], Type::kS32);
}

}  // namespace

void decode_tensor_copy(Site& site) {
  Modifiers& modifiers = site.modifiers;
  constexpr std::string_view kDimensions[] = {"1d", "2d", "3d", "4d", "5d"};
  site.out.count = static_cast<std::uint8_t>(1 + modifiers.take_one(kDimensions, kMost));
  const bool prefetches = modifiers.take("prefetch");
  const Space to = prefetches ? Space::kNone : modifiers.take_space();
  const Space from = modifiers.take_space();
  modifiers.take("tile");
  const bool counted = modifiers.take("mbarrier::complete_tx::bytes");
  const bool grouped = modifiers.take("bulk_group");
  const bool several = modifiers.take("multicast::cluster");
  const std::size_t policies = modifiers.take("L2::cache_hint") ? 1 : 0;
  if (prefetches && from == Space::kGlobal && modifiers.take("L2")) {
    site.out.run = copies_nothing;
    return;
  }
  const bool loads = to == Space::kShared && from == Space::kGlobal && counted;
  const bool stores = to == Space::kGlobal && from == Space::kShared && grouped;
  if (site.out.count > kMost || (!loads && !stores))
    return site.refuse("it is not known in this form");
  if (!site.expect((loads ? 3 : 2) + (several ? 1 : 0) + policies)) return;
  std::vector<std::uint32_t> slots(kParts);
  take_tensor(site, loads ? 1 : 0, slots);
  take_shared(site, loads ? 0 : 1, slots, kShared);
  if (loads) take_shared(site, 2, slots, kBarrier);
  if (several) slots[kBlocks] = site.source(3, Type::kU16);
  site.out.run = copy_tensor;
  site.out.option = loads ? 1 : 0;
  site.out.target = static_cast<std::uint32_t>(site.keep(std::move(slots)));
}

}  // namespace cuvmm::kernels
