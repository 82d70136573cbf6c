// SPDX-License-Identifier: Apache-2.0
// cvt.pack, and cvt to and from the numbers of 8 bits (e4m3x2 and e5m2x2) and tf32.
#include <algorithm>

#include "kernels/ops/float_format.h"
#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

// cvt.pack: `option` bits for each of the two integers, which are below c, shifted by as many bits.
void pack_integers(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  const unsigned bits = i.option;
  const bool is_signed = i.flags != 0;
  const std::int64_t most = (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  const std::int64_t least = is_signed ? -most - 1 : 0;
  const auto part = [&](std::uint64_t value) {
    const std::int64_t clamped = std::clamp<std::int64_t>(get<std::int32_t>(value), least, most);
    return static_cast<std::uint64_t>(clamped) & ((std::uint64_t{1} << bits) - 1);
  };
  each_lane(m, [&](unsigned lane) {
    const std::uint64_t above = bits == 16 ? 0 : c[lane] << (2 * bits);
    out[lane] = static_cast<std::uint32_t>(above | part(a[lane]) << bits | part(b[lane]));
  });
}

struct Byte {
  int mantissa;  ///< bits
  int least;     ///< the exponent of the smallest normal number
  double most;   ///< the largest number
};
constexpr Byte kBytes[] = {{3, -6, 448}, {2, -14, 57344}};  // e4m3, e5m2
constexpr unsigned kNotANumber = 0x7f;

// The nearest number of 8 bits; numbers too large, also the infinite, become the largest.
unsigned to_byte(double value, const Byte& format) {
  if (value != value) return kNotANumber;
  const unsigned sign = std::signbit(value) ? 0x80 : 0;
  const double magnitude = std::min(std::fabs(value), format.most);
  int power = 0;
  std::frexp(magnitude, &power);
  const int at = magnitude == 0 ? format.least : std::max(power - 1, format.least);
  // The host rounds to the nearest, ties to even. A carry increments the exponent, as it should.
  const auto whole =
      static_cast<unsigned>(std::nearbyint(std::ldexp(magnitude, format.mantissa - at)));
  const auto exponent = static_cast<unsigned>(at - format.least);
  return sign | ((exponent << format.mantissa) + whole);
}

double from_byte(unsigned bits, bool e5m2) {
  if (e5m2) return widen(static_cast<std::uint16_t>(bits << 8), kHalf[0], kHalf[1]);
  const unsigned exponent = bits >> 3 & 0xf, fraction = bits & 7;
  const double magnitude = (bits & kNotANumber) == kNotANumber ? std::nan("")
                           : exponent == 0
                               ? std::ldexp(fraction, -9)
                               : std::ldexp(8 + fraction, static_cast<int>(exponent) - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

double limited(double value, std::uint8_t flags) {
  return flags & kRelu ? rectified(value) : value;
}

// option: the index in kBytes
void singles_to_bytes(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const Byte& format = kBytes[i.option];
  const auto part = [&](std::uint64_t bits) {
    return std::uint64_t{to_byte(limited(F32::load(bits), i.flags), format)};
  };
  each_lane(m, [&](unsigned lane) { out[lane] = part(a[lane]) << 8 | part(b[lane]); });
}

void halves_to_bytes(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const Byte& format = kBytes[i.option];
  const auto part = [&](std::uint64_t bits) {
    return std::uint64_t{to_byte(limited(Small<kHalf, 1>::load(bits), i.flags), format)};
  };
  each_lane(m, [&](unsigned lane) { out[lane] = part(a[lane] >> 16) << 8 | part(a[lane]); });
}

void bytes_to_halves(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const auto part = [&](std::uint64_t bits) {
    const double value = from_byte(static_cast<unsigned>(bits & 0xff), i.option == 1);
    return Small<kHalf, 1>::store(limited(value, i.flags));
  };
  each_lane(m, [&](unsigned lane) { out[lane] = part(a[lane] >> 8) << 16 | part(a[lane]); });
}

// tf32 is f32 without the lowest 13 bits; option: 0 ties away from zero, 1 ties to even, 2 cut off.
void to_tf32(Warp& warp, const Instruction& i, Mask m) {
  constexpr std::uint32_t kCut = 0x1fff, kHalfway = 0x1000;
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  each_lane(m, [&](unsigned lane) {
    const auto given = static_cast<std::uint32_t>(a[lane]);
    auto bits = static_cast<std::uint32_t>(i.flags & kRelu ? F32::store(rectified(F32::load(given)))
                                                           : std::uint64_t{given});
    if ((bits & 0x7fffffff) > 0x7f800000) {
      out[lane] = 0x7fffffff;
      return;
    }
    if (i.option == 0) bits += kHalfway;
    if (i.option == 1) bits += kHalfway - 1 + (bits >> 13 & 1);
    out[lane] = bits & ~kCut;
  });
}

void decode_pack(Site& site) {
  constexpr std::string_view kTypes[] = {"u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16"};
  const bool saturates = site.modifiers.take("sat");
  const std::size_t type = site.modifiers.take_one(kTypes, std::size(kTypes));
  if (!saturates || type == std::size(kTypes) || !site.modifiers.take("s32")) {
    return site.refuse("it is not known for its types");
  }
  site.out.option = static_cast<std::uint8_t>(2U << type / 2);
  site.out.flags = type % 2;
  site.out.run = pack_integers;
  const bool has_c = site.modifiers.take("b32");
  if (has_c == (site.out.option == 16)) return site.refuse("it is not known for its types");
  if (!site.expect(has_c ? 4 : 3)) return;
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, Type::kS32);
  site.out.b = site.source(2, Type::kS32);
  if (has_c) site.out.c = site.source(3, Type::kB32);
}

void decode_bytes(Site& site) {
  enum : std::size_t { kE4m3x2, kE5m2x2, kF32, kF16x2, kOther };
  constexpr std::string_view kTypes[] = {"e4m3x2", "e5m2x2", "f32", "f16x2"};
  const bool nearest = site.modifiers.take("rn"), finite = site.modifiers.take("satfinite");
  if (site.modifiers.take("relu")) site.out.flags = kRelu;
  const std::size_t to = site.modifiers.take_one(kTypes, kOther);
  const std::size_t from = site.modifiers.take_one(kTypes, kOther);
  const bool narrows = to <= kE5m2x2 && (from == kF32 || from == kF16x2);
  const bool widens = to == kF16x2 && from <= kE5m2x2;
  if (!nearest || finite != narrows || !(narrows || widens)) {
    return site.refuse("it is not known for its types");
  }
  site.out.option = static_cast<std::uint8_t>(narrows ? to : from);
  site.out.run = widens ? bytes_to_halves : from == kF32 ? singles_to_bytes : halves_to_bytes;
  if (!site.expect(from == kF32 ? 3 : 2)) return;
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, from == kF32 ? Type::kF32 : Type::kB32);
  if (from == kF32) site.out.b = site.source(2, Type::kF32);
}

void decode_tf32(Site& site) {
  constexpr std::string_view kRoundings[] = {"rna", "rn", "rz"};
  const std::size_t rounding = site.modifiers.take_one(kRoundings, std::size(kRoundings));
  if (rounding != 0 && site.modifiers.take("relu")) site.out.flags = kRelu;
  const bool to = site.modifiers.take("tf32"), from = site.modifiers.take("f32");
  if (rounding == std::size(kRoundings) || !to || !from) {
    return site.refuse("it is not known for its types");
  }
  site.out.option = static_cast<std::uint8_t>(rounding);
  site.out.run = to_tf32;
  if (!site.expect(2)) return;
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, Type::kF32);
}

}  // namespace

bool decode_cvt_packed(Site& site) {
  if (site.modifiers.take("pack")) {
    decode_pack(site);
  } else if (site.modifiers.has("e4m3x2") || site.modifiers.has("e5m2x2")) {
    decode_bytes(site);
  } else if (site.modifiers.has("tf32")) {
    decode_tf32(site);
  } else {
    return false;
  }
  return true;
}

}  // namespace cuvmm::kernels
