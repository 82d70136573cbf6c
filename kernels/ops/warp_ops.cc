// SPDX-License-Identifier: Apache-2.0
// Operations of the lanes of a warp, or of the threads of a block, together.
#include <algorithm>
#include <array>

#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"
#include "kernels/run/warp.h"

namespace cuvmm::kernels {

namespace {

enum Shuffle : std::uint8_t { kUp, kDown, kButterfly, kIndex };

// `a`: the value that each lane gives; b: the source lane; c: clamp, and segments of the warp.
void shuffle(Warp& warp, const Instruction& i, Mask m) {
  std::array<std::uint64_t, kLanes> given;
  std::copy_n(warp.reg(i.a), kLanes, given.begin());
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  std::uint64_t* const out = warp.reg(i.v[0]);
  Mask valid = 0;
  each_lane(m, [&](unsigned lane) {
    const int by = static_cast<int>(b[lane] & 0x1f), own = static_cast<int>(lane);
    const int clamp = static_cast<int>(c[lane] & 0x1f),
              segment = static_cast<int>(c[lane] >> 8 & 0x1f);
    const int last = (own & segment) | (clamp & ~segment), first = own & segment;
    int from = own;
    bool inside = false;
    switch (i.option) {
      case kUp:
        from = own - by;
        inside = from >= last;
        break;
      case kDown:
        from = own + by;
        inside = from <= last;
        break;
      case kButterfly:
        from = own ^ by;
        inside = from <= last;
        break;
      default:
        from = first | (by & ~segment);
        inside = from <= last;
    }
    if (!inside) from = own;
    valid |= static_cast<Mask>(inside) << lane;
    out[lane] = static_cast<std::uint32_t>(given[static_cast<unsigned>(from) % kLanes]);
  });
  if (i.p) {
    Mask& p = warp.predicate(i.p);
    p = (p & ~m) | (valid & m);
  }
}

enum Vote : std::uint8_t { kAllOf, kAnyOf, kUniform, kBallot };

void vote(Warp& warp, const Instruction& i, Mask m) {
  const Mask yes = (warp.predicate(i.r) ^ i.invert_read) & m;
  if (i.option == kBallot) {
    std::uint64_t* const out = warp.reg(i.v[0]);
    return each_lane(m, [&](unsigned lane) { out[lane] = yes; });
  }
  const bool result = i.option == kAllOf   ? yes == m
                      : i.option == kAnyOf ? yes != 0
                                           : yes == m || yes == 0;
  Mask& p = warp.predicate(i.p);
  p = (p & ~m) | (result ? m : 0);
}

// option 0: for each lane, the lanes with its value; 1: all lanes, if all have an equal value.
template <class T>
void match(Warp& warp, const Instruction& i, Mask m) {
  std::array<std::uint64_t, kLanes> values;
  std::copy_n(warp.reg(i.a), kLanes, values.begin());
  std::uint64_t* const out = warp.reg(i.v[0]);
  Mask same_for_all = m;
  each_lane(m, [&](unsigned lane) {
    Mask same = 0;
    each_lane(m, [&](unsigned other) {
      same |= static_cast<Mask>(get<T>(values[lane]) == get<T>(values[other])) << other;
    });
    same_for_all &= same;
    out[lane] = same;
  });
  if (i.option == 0) return;
  const bool all = same_for_all == m;
  each_lane(m, [&](unsigned lane) { out[lane] = all ? m : 0; });
  if (!i.p) return;
  Mask& p = warp.predicate(i.p);
  p = (p & ~m) | (all ? m : 0);
}

enum Reduce : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor };

template <class T>
void reduce(Warp& warp, const Instruction& i, Mask m) {
  const std::uint64_t* const a = warp.reg(i.a);
  T sum = get<T>(a[std::countr_zero(m)]);
  each_lane(m & (m - 1), [&](unsigned lane) {
    const T value = get<T>(a[lane]);
    switch (i.option) {
      case kAdd:
        sum = static_cast<T>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(value));
        break;
      case kMin:
        sum = std::min(sum, value);
        break;
      case kMax:
        sum = std::max(sum, value);
        break;
      case kAnd:
        sum &= value;
        break;
      case kOr:
        sum |= value;
        break;
      default:
        sum ^= value;
    }
  });
  std::uint64_t* const out = warp.reg(i.v[0]);
  each_lane(m, [&](unsigned lane) { out[lane] = put<T>(sum); });
}

void active(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  each_lane(m, [&](unsigned lane) { out[lane] = m; });
}

void elect(Warp& warp, const Instruction& i, Mask m) {
  const auto first = static_cast<unsigned>(std::countr_zero(m));
  std::uint64_t* const out = warp.reg(i.v[0]);
  each_lane(m, [&](unsigned lane) { out[lane] = first; });
  Mask& p = warp.predicate(i.p);
  p = (p & ~m) | (m & -m);
}

// With `sync`, all lanes of a mask, the last operand, take part; else the lanes that are active.
void gather(Site& site, bool sync, std::size_t mask) {
  if (!sync) return;
  site.out.flow = Flow::kConverge;
  site.out.e = site.source(mask, Type::kB32);
}

void decode_shfl(Site& site) {
  constexpr std::string_view kModes[] = {"up", "down", "bfly", "idx"};
  const bool sync = site.modifiers.take("sync");
  const std::size_t mode = site.modifiers.take_one(kModes, 4);
  if (mode == 4 || site.modifiers.take_type() != Type::kB32) return site.refuse("it is not known");
  if (!site.expect(sync ? 5 : 4)) return;
  site.out.run = shuffle;
  site.out.option = static_cast<std::uint8_t>(mode);
  const Operand& to = site.operand(0);
  const bool pair = to.kind == Operand::Kind::kPair;
  site.out.v[0] = site.target(pair ? to.parts[0] : to);
  if (pair) site.out.p = site.predicate_target(to.parts[1]);
  site.out.a = site.source(1, Type::kB32);
  site.out.b = site.source(2, Type::kB32);
  site.out.c = site.source(3, Type::kB32);
  gather(site, sync, 4);
}

void decode_vote(Site& site) {
  constexpr std::string_view kModes[] = {"all", "any", "uni", "ballot"};
  const bool sync = site.modifiers.take("sync");
  const std::size_t mode = site.modifiers.take_one(kModes, 4);
  site.modifiers.take_type();
  if (mode == 4) return site.refuse("it is not known");
  if (!site.expect(sync ? 3 : 2)) return;
  site.out.run = vote;
  site.out.option = static_cast<std::uint8_t>(mode);
  if (mode == kBallot) {
    site.out.v[0] = site.target(0);
  } else {
    site.out.p = site.predicate_target(site.operand(0));
  }
  site.out.r = site.predicate(site.operand(1), site.out.invert_read);
  gather(site, sync, 2);
}

void decode_match(Site& site) {
  site.out.option = site.modifiers.take("all") ? 1 : 0;
  site.modifiers.take("any");
  const bool sync = site.modifiers.take("sync");
  const Type type = site.modifiers.take_type();
  if (!site.expect(3)) return;
  site.out.run = bytes_of(type) == 8 ? match<std::uint64_t> : match<std::uint32_t>;
  const Operand& to = site.operand(0);
  const bool pair = to.kind == Operand::Kind::kPair;
  site.out.v[0] = site.target(pair ? to.parts[0] : to);
  if (pair) site.out.p = site.predicate_target(to.parts[1]);
  site.out.a = site.source(1, type);
  gather(site, sync, 2);
}

void decode_redux(Site& site) {
  constexpr std::string_view kOps[] = {"add", "min", "max", "and", "or", "xor"};
  const bool sync = site.modifiers.take("sync");
  const std::size_t op = site.modifiers.take_one(kOps, 6);
  const Type type = site.modifiers.take_type();
  if (op == 6 || bytes_of(type) != 4 || is_float(type)) return site.refuse("it is not known");
  if (!site.expect(3)) return;
  site.out.run = is_signed(type) ? reduce<std::int32_t> : reduce<std::uint32_t>;
  site.out.option = static_cast<std::uint8_t>(op);
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  gather(site, sync, 2);
}

void decode_activemask(Site& site) {
  site.modifiers.take_type();
  if (!site.expect(1)) return;
  site.out.run = active;
  site.out.v[0] = site.target(0);
}

void decode_elect(Site& site) {
  const bool sync = site.modifiers.take("sync");
  if (!site.expect(2)) return;
  const Operand& to = site.operand(0);
  if (to.kind != Operand::Kind::kPair) return site.refuse("it is not known");
  site.out.run = elect;
  site.out.v[0] = site.target(to.parts[0]);
  site.out.p = site.predicate_target(to.parts[1]);
  gather(site, sync, 1);
}

// bar.red: combines the threads' predicates.
void put_reduction(Warp& warp, const Instruction& i, Mask m) {
  const BlockView::Reduction& all = warp.block().reduction();
  if (i.option == 0) {
    std::uint64_t* const out = warp.reg(i.v[0]);
    return each_lane(m, [&](unsigned lane) { out[lane] = all.count; });
  }
  const bool result = i.option == 1 ? all.count == all.of : all.count != 0;
  Mask& p = warp.predicate(i.p);
  p = (p & ~m) | (result ? m : 0);
}

void decode_reduction(Site& site) {
  constexpr std::string_view kOps[] = {"popc", "and", "or"};
  const std::size_t op = site.modifiers.take_one(kOps, 3);
  site.modifiers.take_type();
  if (op == 3 || !site.expect(3, 4)) return site.refuse("it is not known");
  site.out.run = put_reduction;
  site.out.option = static_cast<std::uint8_t>(op);
  if (op == 0) {
    site.out.v[0] = site.target(0);
  } else {
    site.out.p = site.predicate_target(site.operand(0));
  }
  site.out.a = site.source(1, Type::kU32);
  if (site.operands() == 4) site.out.b = site.source(2, Type::kU32);
  site.out.r = site.predicate(site.operand(site.operands() - 1), site.out.invert_read);
}

void decode_cluster_barrier(Site& site) {
  const bool arrives = site.modifiers.take("arrive");
  site.out.effect = kOrders;
  for (const char* order : {"release", "relaxed", "acquire", "aligned"}) site.modifiers.take(order);
  if (!arrives && !site.modifiers.take("wait")) return site.refuse("it is not known");
  site.out.flow = arrives ? Flow::kClusterArrive : Flow::kClusterWait;
  site.expect(0);
}

// bar.sync, barrier.cta.sync, bar.arrive, bar.red and bar.warp.sync.
void decode_bar(Site& site) {
  if (site.modifiers.take("cluster")) return decode_cluster_barrier(site);
  const bool of_warp = site.modifiers.take("warp");
  site.modifiers.take("cta");
  // `bar` is a barrier that all threads of a warp reach together, as `barrier` with this word is.
  const bool aligned = site.modifiers.take("aligned") || site.statement.name.starts_with("bar.");
  site.out.flags = aligned ? kAligned : 0;
  if (of_warp) {
    if (site.modifiers.take("sync") && site.expect(1)) gather(site, true, 0);
    return;
  }
  const bool arrives = site.modifiers.take("arrive");
  site.out.flow = arrives ? Flow::kArrive : Flow::kBarrier;
  if (site.modifiers.take("red")) return decode_reduction(site);
  if (!arrives && !site.modifiers.take("sync")) return site.refuse("it is not known");
  if (!site.expect(1, 2)) return;
  site.out.a = site.source(0, Type::kU32);
  if (site.operands() == 2) site.out.b = site.source(1, Type::kU32);
}

constexpr Opcode kOpcodes[] = {
    {"shfl", decode_shfl},   {"vote", decode_vote},   {"match", decode_match},
    {"redux", decode_redux}, {"elect", decode_elect}, {"activemask", decode_activemask},
    {"bar", decode_bar},     {"barrier", decode_bar},
};

}  // namespace

std::span<const Opcode> warp_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
