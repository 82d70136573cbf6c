// SPDX-License-Identifier: Apache-2.0
// Addresses in the shared memory of a cluster's blocks: mapa and getctarank.
#include "kernels/run/cluster.h"

#include "kernels/async/opcodes.h"
#include "kernels/run/lanes.h"
#include "kernels/run/warp.h"

namespace cuvmm::kernels {

namespace {

void map_address(Warp& warp, const Instruction& i, Mask m) {
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  std::uint64_t* const out = warp.reg(i.v[0]);
  each_lane(m, [&](unsigned lane) {
    out[lane] = in_block(a[lane], static_cast<std::uint32_t>(b[lane]));
  });
}

void rank_of(Warp& warp, const Instruction& i, Mask m) {
  const std::uint64_t* const a = warp.reg(i.a);
  std::uint64_t* const out = warp.reg(i.v[0]);
  each_lane(m, [&](unsigned lane) {
    const std::uint64_t rank = (a[lane] & kRankMask) >> kRankAt;
    out[lane] = rank == 0 ? warp.block().rank() : rank - 1;
  });
}

// The address is generic without a space.
void decode_mapa(Site& site) {
  site.modifiers.take("shared::cluster");
  const Type type = site.modifiers.take_type();
  if (!site.expect(3)) return;
  site.out.run = map_address;
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  site.out.b = site.source(2, Type::kU32);
}

void decode_getctarank(Site& site) {
  site.modifiers.take("shared::cluster");
  const Type type = site.modifiers.take_type();
  if (!site.expect(2)) return;
  site.out.run = rank_of;
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
}

constexpr Opcode kOpcodes[] = {{"mapa", decode_mapa}, {"getctarank", decode_getctarank}};

}  // namespace

std::span<const Opcode> cluster_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
