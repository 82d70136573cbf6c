// SPDX-License-Identifier: Apache-2.0
// Fields of bits: bfe, bfi, bmsk, szext and fns.
#include <algorithm>

#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

// The lowest `count` bits of a value, with the sign above them where the type has one.
template <class T>
T lowest_bits(T value, unsigned count) {
  constexpr unsigned kBits = sizeof(T) * 8;
  if (count == 0) return 0;
  if (count >= kBits) return value;
  const auto moved = static_cast<T>(static_cast<std::make_unsigned_t<T>>(value) << (kBits - count));
  return static_cast<T>(moved >> (kBits - count));
}

// Position and length have 8 bits for values of 32 bits. For values of 64 bits, an H100 reads all
// 32 bits of them.
template <class T>
void extract(Warp& warp, const Instruction& i, Mask m) {
  constexpr unsigned kBits = sizeof(T) * 8;
  constexpr std::uint64_t kRead = kBits == 64 ? 0xffffffff : 0xff;
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  each_lane(m, [&](unsigned lane) {
    const T value = get<T>(a[lane]);
    const auto from = static_cast<unsigned>(b[lane] & kRead);
    const auto length = static_cast<unsigned>(c[lane] & kRead);
    // Bits above the value are its sign, or 0.
    const T above = value < 0 ? static_cast<T>(~T{0}) : T{0};
    out[lane] = put<T>(lowest_bits(from < kBits ? static_cast<T>(value >> from) : above, length));
  });
}

template <class T>
void insert(Warp& warp, const Instruction& i, Mask m) {
  constexpr unsigned kBits = sizeof(T) * 8;
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  const std::uint64_t* const e = warp.reg(i.e);
  each_lane(m, [&](unsigned lane) {
    const unsigned from = c[lane] & 0xff, length = e[lane] & 0xff;
    const T ones = length >= kBits ? T(~T{0}) : T((T{1} << length) - 1);
    const T mask = from >= kBits ? T{0} : T(ones << from);
    const T moved = from >= kBits ? T{0} : T(get<T>(a[lane]) << from);
    out[lane] = static_cast<T>((get<T>(b[lane]) & ~mask) | (moved & mask));
  });
}

// option 1: numbers above 32 count as 32, else modulo 32.
unsigned limited(const Instruction& i, std::uint64_t value) {
  const auto low = static_cast<std::uint32_t>(value);
  return i.option ? std::min(low, 32U) : low % 32;
}

void mask_of(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  each_lane(m, [&](unsigned lane) {
    const std::uint64_t ones = (std::uint64_t{1} << limited(i, b[lane])) - 1;
    out[lane] = static_cast<std::uint32_t>(ones << limited(i, a[lane]));
  });
}

template <class T>
void extend(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  each_lane(m, [&](unsigned lane) {
    out[lane] = put<T>(lowest_bits(get<T>(a[lane]), limited(i, b[lane])));
  });
}

// The position of the n-th set bit of `mask`, counted from `base` on, upwards or downwards by the
// sign of n. For n = 0, `base` itself where its bit is set.
std::uint32_t set_bit(std::uint32_t mask, std::int64_t base, std::int32_t n) {
  const std::int64_t step = n < 0 ? -1 : 1;
  std::int64_t left = n < 0 ? -std::int64_t{n} : n;
  for (std::int64_t at = base; at >= 0 && at < 32; at += step) {
    const bool is_set = mask >> at & 1;
    if (n == 0) return is_set ? static_cast<std::uint32_t>(at) : ~0U;
    if (is_set && --left == 0) return static_cast<std::uint32_t>(at);
  }
  return ~0U;
}

void find_set(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  each_lane(m, [&](unsigned lane) {
    out[lane] = set_bit(static_cast<std::uint32_t>(a[lane]), static_cast<std::uint32_t>(b[lane]),
                        get<std::int32_t>(c[lane]));
  });
}

void sources(Site& site, Type type, std::size_t count) {
  if (!site.expect(count + 1)) return;
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  site.out.b = site.source(2, Type::kU32);
  if (count > 2) site.out.c = site.source(3, Type::kU32);
}

void decode_extract(Site& site) {
  const Type type = site.modifiers.take_type();
  const bool known =
      type == Type::kU32 || type == Type::kS32 || type == Type::kU64 || type == Type::kS64;
  if (!known) return site.refuse("it is not known for its type");
  site.out.run = with_integer(type, [](auto t) -> Run { return extract<decltype(t)>; });
  sources(site, type, 3);
}

void decode_insert(Site& site) {
  const Type type = site.modifiers.take_type();
  if (type != Type::kB32 && type != Type::kB64) return site.refuse("it is not known for its type");
  if (!site.expect(5)) return;
  site.out.run = type == Type::kB64 ? insert<std::uint64_t> : insert<std::uint32_t>;
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  site.out.b = site.source(2, type);
  site.out.c = site.source(3, Type::kU32);
  site.out.e = site.source(4, Type::kU32);
}

bool take_limit(Site& site) {
  const bool clamps = site.modifiers.take("clamp");
  if (!clamps && !site.modifiers.take("wrap")) site.refuse("it has neither `.clamp` nor `.wrap`");
  site.out.option = clamps ? 1 : 0;
  return site.why().empty();
}

void decode_mask(Site& site) {
  if (!take_limit(site)) return;
  if (site.modifiers.take_type() != Type::kB32) return site.refuse("it is not known for its type");
  site.out.run = mask_of;
  sources(site, Type::kU32, 2);
}

void decode_extend(Site& site) {
  if (!take_limit(site)) return;
  const Type type = site.modifiers.take_type();
  if (type != Type::kU32 && type != Type::kS32) return site.refuse("it is not known for its type");
  site.out.run = type == Type::kS32 ? extend<std::int32_t> : extend<std::uint32_t>;
  sources(site, type, 2);
}

void decode_find_set(Site& site) {
  if (site.modifiers.take_type() != Type::kB32) return site.refuse("it is not known for its type");
  site.out.run = find_set;
  sources(site, Type::kB32, 3);
}

constexpr Opcode kOpcodes[] = {{"bfe", decode_extract},
                               {"bfi", decode_insert},
                               {"bmsk", decode_mask},
                               {"szext", decode_extend},
                               {"fns", decode_find_set}};

}  // namespace

std::span<const Opcode> field_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
