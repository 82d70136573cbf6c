// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk copies at once, so an instruction that waits for it continues at once; the barrier
// of a copy hears of the bytes when they are there.
#include "kernels/async/bulk.h"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "kernels/async/mbarrier.h"
#include "kernels/async/tensor.h"
#include "kernels/run/cluster.h"
#include "kernels/run/lanes.h"
#include "kernels/run/warp.h"

namespace cuvmm::kernels {

namespace {

constexpr unsigned kUnit = 16;  // bytes: places and sizes are multiples

/// The registers of a bulk copy, in the order of its list. A register that is 0 is not given.
enum Part : std::uint8_t {
  kTo,
  kToOffset,
  kFrom,
  kFromOffset,
  kSize,
  kBarrier,
  kBarrierOffset,
  kBlocks,
  kBytes,
  kParts
};

// Combines the unit of bytes at `to` with the one at `from`.
using Combine = void (*)(char* to, const char* from);

template <class T, class Op>
void combine(char* to, const char* from) {
  T a[kUnit / sizeof(T)], b[kUnit / sizeof(T)];
  std::memcpy(a, to, kUnit);
  std::memcpy(b, from, kUnit);
  for (unsigned k = 0; k < std::size(a); ++k) a[k] = Op::run(a[k], b[k]);
  std::memcpy(to, a, kUnit);
}

struct Sum {
  template <class T>
  static T run(T a, T b) {
    if constexpr (std::integral<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else
      return a + b;
  }
};
struct Least {
  template <class T>
  static T run(T a, T b) {
    return std::min(a, b);
  }
};
struct Most {
  template <class T>
  static T run(T a, T b) {
    return std::max(a, b);
  }
};
struct Both {
  template <class T>
  static T run(T a, T b) {
    return a & b;
  }
};
struct Either {
  template <class T>
  static T run(T a, T b) {
    return a | b;
  }
};
struct Unequal {
  template <class T>
  static T run(T a, T b) {
    return a ^ b;
  }
};

constexpr std::string_view kOperations[] = {"add", "min", "max", "and", "or", "xor"};

template <class T>
Combine of_type(std::size_t operation) {
  constexpr Combine kAll[] = {combine<T, Sum>,  combine<T, Least>,  combine<T, Most>,
                              combine<T, Both>, combine<T, Either>, combine<T, Unequal>};
  return kAll[operation];
}

// Null: the operation is not known for the type.
Combine combination(std::size_t operation, Type type) {
  const bool sums = operation == 0, bits = operation > 2;
  switch (type) {
    case Type::kU32:
      return bits ? nullptr : of_type<std::uint32_t>(operation);
    case Type::kS32:
      return bits ? nullptr : of_type<std::int32_t>(operation);
    case Type::kU64:
      return bits ? nullptr : of_type<std::uint64_t>(operation);
    case Type::kS64:
      return bits ? nullptr : of_type<std::int64_t>(operation);
    case Type::kB32:
      return bits ? of_type<std::uint32_t>(operation) : nullptr;
    case Type::kB64:
      return bits ? of_type<std::uint64_t>(operation) : nullptr;
    case Type::kF32:
      return sums ? combine<float, Sum> : nullptr;
    case Type::kF64:
      return sums ? combine<double, Sum> : nullptr;
    default:
      return nullptr;
  }
}

// An instruction names its operation and type by an index.
constexpr Type kTypes[] = {Type::kU32, Type::kS32, Type::kU64, Type::kS64,
                           Type::kB32, Type::kB64, Type::kF32, Type::kF64};

bool copy_unit(Warp& warp, const Instruction& to, const Instruction& from, unsigned lane,
               const std::uint64_t (&places)[2], Combine how) {
  const char* const in = warp.at(from, lane, places[1], kUnit, false);
  char* const out = in ? warp.at(to, lane, places[0], kUnit, true) : nullptr;
  if (!out) return false;
  if (how) {
    how(out, in);
  } else {
    std::memmove(out, in, kUnit);
  }
  return true;
}

// `bytes`: the bytes of each unit that are copied, a bit each.
bool copy_bytes(Warp& warp, const Instruction& to, const Instruction& from, unsigned lane,
                const std::uint64_t (&places)[2], std::uint64_t bytes) {
  const char* const in = warp.at(from, lane, places[1], kUnit, false);
  char* const out = in ? warp.at(to, lane, places[0], kUnit, true) : nullptr;
  for (unsigned byte = 0; out && byte < kUnit; ++byte) {
    if (bytes >> byte & 1) out[byte] = in[byte];
  }
  return out != nullptr;
}

// space: of the destination; flags: of the source; option: the index of a combination, from 1 on;
// target: the list of registers
void copy_bulk(Warp& warp, const Instruction& i, Mask m) {
  const std::vector<std::uint32_t>& slots = warp.code().lists[i.target];
  Instruction to = i, from = i, barrier = i;
  from.space = static_cast<Space>(i.flags);
  barrier.space = Space::kShared;
  const Combine how = i.option == 0 ? nullptr
                                    : combination((i.option - 1u) / std::size(kTypes),
                                                  kTypes[(i.option - 1u) % std::size(kTypes)]);
  each_lane(m, [&](unsigned lane) {
    const auto value = [&](Part part) { return warp.reg(slots[part])[lane]; };
    const std::uint64_t size = static_cast<std::uint32_t>(value(kSize));
    const std::uint64_t source = value(kFrom) + value(kFromOffset);
    if (size % kUnit != 0)
      return warp.fail(i, lane, CUDA_ERROR_MISALIGNED_ADDRESS,
                       "a bulk copy of " + std::to_string(size) + " bytes, no multiple of 16");
    // Without a list of blocks, a single copy to the place itself.
    const std::uint64_t blocks = slots[kBlocks] ? value(kBlocks) & 0xffff : 1;
    for (unsigned rank = 0; rank < 16; ++rank) {
      if (!(blocks >> rank & 1)) continue;
      const auto place = [&](std::uint64_t address) {
        return slots[kBlocks] ? in_block(address, rank) : address;
      };
      for (std::uint64_t at = 0; at < size; at += kUnit) {
        const std::uint64_t places[2] = {place(value(kTo) + value(kToOffset)) + at, source + at};
        const bool copied = slots[kBytes] ? copy_bytes(warp, to, from, lane, places, value(kBytes))
                                          : copy_unit(warp, to, from, lane, places, how);
        if (!copied) return;
      }
      if (!slots[kBarrier]) continue;
      char* const counts =
          warp.at(barrier, lane, place(value(kBarrier) + value(kBarrierOffset)), 8, true);
      if (counts) complete_bytes(counts, size);
    }
  });
}

void do_nothing(Warp&, const Instruction&, Mask) {}

// The register and the offset of an address.
void take_address(Site& site, std::size_t index, Space space, std::vector<std::uint32_t>& slots,
                  Part part) {
  if (index >= site.operands()) return site.refuse("an operand is missing");
  site.address(site.operand(index), space);
  Operand offset;
  offset.kind = Operand::Kind::kInteger;
  offset.value = site.out.immediate;
  slots[part] = site.out.a;
  slots[part + 1u] = site.source(offset, Type::kU64);
}

void take_combination(Site& site) {
  const std::size_t operation = site.modifiers.take_one(kOperations, std::size(kOperations));
  const Type type = site.modifiers.take_type();
  if (operation == std::size(kOperations) || !combination(operation, type))
    return site.refuse("its operation is not known for its type");
  const auto at = static_cast<std::size_t>(std::ranges::find(kTypes, type) - std::begin(kTypes));
  site.out.option = static_cast<std::uint8_t>(1 + operation * std::size(kTypes) + at);
}

// The operands behind the destination, the source and the size.
void take_rest(Site& site, bool to_global, std::vector<std::uint32_t>& slots) {
  const bool several = site.modifiers.take("multicast::cluster");
  const bool masked = site.modifiers.take("cp_mask");
  const bool policy = site.modifiers.take("L2::cache_hint");
  std::size_t next = 3;
  if (!to_global) {
    take_address(site, next++, Space::kShared, slots, kBarrier);
    if (slots[kBarrier] == 0) slots[kBarrier] = site.new_register();  // [16], which register 0 has
  }
  if (several) slots[kBlocks] = site.source(next++, Type::kU16);
  next += policy ? 1 : 0;
  if (masked) slots[kBytes] = site.source(next++, Type::kU16);
  site.expect(next);
}

}  // namespace

void decode_bulk(Site& site, bool reduces) {
  Modifiers& modifiers = site.modifiers;
  site.out.effect = kOrders;
  if (reduces && !(modifiers.take("async") && modifiers.take("bulk")))
    return site.refuse("it is not known");
  if (modifiers.take("commit_group") || modifiers.take("wait_group")) {
    modifiers.take("read");
    site.out.run = do_nothing;
    return;
  }
  if (!reduces && modifiers.take("tensor")) return decode_tensor_copy(site);
  if (modifiers.take("prefetch")) {
    modifiers.take("L2");
    modifiers.take("global");
    modifiers.take("L2::cache_hint");
    site.out.run = do_nothing;
    return;
  }
  const Space to = modifiers.take_space(), from = modifiers.take_space();
  const bool counted = modifiers.take("mbarrier::complete_tx::bytes");
  const bool grouped = modifiers.take("bulk_group");
  const bool known =
      (to == Space::kShared && (from == Space::kGlobal || from == Space::kShared) && counted) ||
      (to == Space::kGlobal && from == Space::kShared && grouped);
  if (!known || !site.expect(3, 6)) return site.refuse("it is not known in this form");
  if (reduces) take_combination(site);
  std::vector<std::uint32_t> slots(kParts);
  take_address(site, 0, to, slots, kTo);
  take_address(site, 1, from, slots, kFrom);
  slots[kSize] = site.source(2, Type::kU32);
  take_rest(site, to == Space::kGlobal, slots);
  site.out.run = copy_bulk;
  site.out.space = to;
  site.out.flags = static_cast<std::uint8_t>(from);
  site.out.target = static_cast<std::uint32_t>(site.keep(std::move(slots)));
}

namespace {

// count: values of a lane; option: bytes of each; c and target: the barrier
void store_async(Warp& warp, const Instruction& i, Mask m) {
  const unsigned size = i.option;
  each_lane(m, [&](unsigned lane) {
    char* const out = warp.at(i, lane, warp.reg(i.a)[lane] + i.immediate, size * i.count, true);
    char* const barrier = out ? warp.at(i, lane, warp.reg(i.c)[lane] + i.target, 8, true) : nullptr;
    if (!barrier) return;
    for (unsigned part = 0; part < i.count; ++part)
      std::memcpy(out + std::size_t{part} * size, &warp.reg(i.v[part])[lane], size);
    complete_bytes(barrier, std::uint64_t{size} * i.count);
  });
}

}  // namespace

void decode_store_async(Site& site) {
  Modifiers& modifiers = site.modifiers;
  for (const char* word : {"weak", "relaxed", "cluster"}) modifiers.take(word);
  const Space space = modifiers.take_space();
  const bool counted = modifiers.take("mbarrier::complete_tx::bytes");
  site.out.count = static_cast<std::uint8_t>(modifiers.take("v2")   ? 2
                                             : modifiers.take("v4") ? 4
                                                                    : 1);
  const Type type = modifiers.take_type();
  const unsigned size = bytes_of(type);
  const bool known = counted && space == Space::kShared && (size == 4 || size == 8);
  if (!known || size * site.out.count > 16 || !site.expect(3))
    return site.refuse("it is not known in this form");
  const Operand& value = site.operand(1);
  const bool vector = value.kind == Operand::Kind::kVector;
  if ((vector ? value.parts.size() : 1) != site.out.count)
    return site.refuse("a vector of another size");
  for (unsigned part = 0; part < site.out.count; ++part)
    site.out.v[part] = site.source(vector ? value.parts[part] : value, type);
  site.address(site.operand(2), Space::kShared);
  site.out.c = site.out.a;
  site.out.target = static_cast<std::uint32_t>(site.out.immediate);
  site.address(site.operand(0), space);
  site.out.run = store_async;
  site.out.option = static_cast<std::uint8_t>(size);
}

}  // namespace cuvmm::kernels
