// SPDX-License-Identifier: Apache-2.0
// Arithmetic in several words: add.cc, addc, sub.cc, subc, mad.cc and madc. integer.cc calls the
// decoders of those whose names have a dot.
#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

enum Option : std::uint8_t { kReads = 1, kWrites = 2, kSubtracts = 4, kHigh = 8 };

// The carry is a predicate of the kernel; a borrow is the absence of a carry, as in PTX.
template <class T>
void add(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  Mask& carry = warp.predicate(i.p);
  const bool subtracts = i.option & kSubtracts;
  Mask carries = 0;
  each_lane(m, [&](unsigned lane) {
    const T y = subtracts ? static_cast<T>(~get<T>(b[lane])) : get<T>(b[lane]);
    const bool in = i.option & kReads ? is_set(carry, lane) : subtracts;
    const auto sum = static_cast<unsigned __int128>(get<T>(a[lane])) + y + in;
    carries |= static_cast<Mask>((sum >> (sizeof(T) * 8)) & 1) << lane;
    out[lane] = static_cast<T>(sum);
  });
  if (i.option & kWrites) carry = (carry & ~m) | carries;
}

template <class T>
void mad(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  Mask& carry = warp.predicate(i.p);
  Mask carries = 0;
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  using U = std::make_unsigned_t<T>;
  each_lane(m, [&](unsigned lane) {
    const Wide product = Wide{get<T>(a[lane])} * Wide{get<T>(b[lane])};
    const auto part = static_cast<U>(i.option & kHigh ? product >> (sizeof(T) * 8) : product);
    const bool in = (i.option & kReads) && is_set(carry, lane);
    const auto sum = static_cast<unsigned __int128>(part) + get<U>(c[lane]) + in;
    carries |= static_cast<Mask>((sum >> (sizeof(T) * 8)) & 1) << lane;
    out[lane] = static_cast<U>(sum);
  });
  if (i.option & kWrites) carry = (carry & ~m) | carries;
}

void decode_add(Site& site, unsigned option) {
  if (site.modifiers.take("cc")) option |= kWrites;
  const Type type = site.modifiers.take_type();
  if (!site.expect(3)) return;
  site.out.run = bytes_of(type) == 8 ? add<std::uint64_t> : add<std::uint32_t>;
  site.out.option = static_cast<std::uint8_t>(option);
  site.out.p = site.carry();
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  site.out.b = site.source(2, type);
}

void decode_mad(Site& site, unsigned option) {
  if (site.modifiers.take("cc")) option |= kWrites;
  if (site.modifiers.take("hi")) option |= kHigh;
  site.modifiers.take("lo");
  const Type type = site.modifiers.take_type();
  if (!site.expect(4)) return;
  site.out.run = with_integer(type, [](auto t) -> Run { return mad<decltype(t)>; });
  if (!site.out.run) site.refuse("it is not known for its type");
  site.out.option = static_cast<std::uint8_t>(option);
  site.out.p = site.carry();
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  site.out.b = site.source(2, type);
  site.out.c = site.source(3, type);
}

constexpr Opcode kOpcodes[] = {
    {"add.cc", [](Site& site) { decode_add(site, kWrites); }},
    {"addc", [](Site& site) { decode_add(site, kReads); }},
    {"sub.cc", [](Site& site) { decode_add(site, kWrites | kSubtracts); }},
    {"subc", [](Site& site) { decode_add(site, kReads | kSubtracts); }},
    {"mad.cc", [](Site& site) { decode_mad(site, kWrites); }},
    {"madc", [](Site& site) { decode_mad(site, kReads); }},
};

}  // namespace

std::span<const Opcode> carry_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
