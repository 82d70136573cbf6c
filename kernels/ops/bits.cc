// SPDX-License-Identifier: Apache-2.0
// Logic, shifts and moves of bits: also mov, selp and the logic of predicates.
#include <algorithm>

#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

struct And {
  template <class T>
  static T run(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T run(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T run(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  static T run(T a) {
    return static_cast<T>(~a);
  }
};
struct NotAtAll {  // cnot
  template <class T>
  static T run(T a) {
    return a == 0 ? T{1} : T{0};
  }
};
struct Same {
  template <class T>
  static T run(T a) {
    return a;
  }
};

// At least 32 bits, with the sign of the type.
template <class T>
using Widened =
    std::conditional_t<sizeof(T) == 8, T,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>;

// The distance has 32 bits; a distance beyond the width of the value shifts all bits out.
template <class T, bool kLeft>
void shift(Warp& warp, const Instruction& i, Mask m) {
  constexpr unsigned kBits = sizeof(T) * 8;
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  each_result(out, m, [&](unsigned lane) {
    const T value = get<T>(a[lane]);
    const auto by = static_cast<std::uint32_t>(b[lane]);
    const std::uint32_t within = std::min(by, kBits - 1);
    if constexpr (kLeft) {
      const auto shifted = static_cast<T>(static_cast<Widened<T>>(value) << within);
      return put<T>(by >= kBits ? T{0} : shifted);
    } else {
      const auto shifted = static_cast<T>(static_cast<Widened<T>>(value) >> within);
      return put<T>(by >= kBits && !std::is_signed_v<T> ? T{0} : shifted);
    }
  });
}

// Shifts the 64 bits {b, a}; option 1: by at most 32, else modulo 32.
template <bool kLeft>
void funnel(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  const bool clamps = i.option != 0;
  each_result(out, m, [&](unsigned lane) -> std::uint64_t {
    const std::uint64_t both = b[lane] << 32 | static_cast<std::uint32_t>(a[lane]);
    const auto distance = static_cast<std::uint32_t>(c[lane]);
    const std::uint32_t by = clamps ? std::min(distance, 32U) : distance % 32;
    return static_cast<std::uint32_t>(kLeft ? both << by >> 32 : both >> by);
  });
}

void logic3(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  std::uint64_t rows[8];
  for (unsigned row = 0; row < 8; ++row)
    rows[row] = (i.immediate >> row & 1) != 0 ? ~std::uint64_t{0} : 0;
  each_result(out, m, [&](unsigned lane) -> std::uint64_t {
    const std::uint64_t x = a[lane], y = b[lane], z = c[lane];
    const std::uint64_t with = y & ((rows[7] & z) | (rows[6] & ~z));
    const std::uint64_t without = ~y & ((rows[5] & z) | (rows[4] & ~z));
    const std::uint64_t others =
        (y & ((rows[3] & z) | (rows[2] & ~z))) | (~y & ((rows[1] & z) | (rows[0] & ~z)));
    return static_cast<std::uint32_t>((x & (with | without)) | (~x & others));
  });
}

enum Permute : std::uint8_t {
  kBytes,
  kForward4,
  kBackward4,
  kReplicate8,
  kClampLeft,
  kClampRight,
  kReplicate16
};

std::uint32_t permute(std::uint64_t a, std::uint64_t b, std::uint32_t selector, unsigned mode) {
  const std::uint64_t both = b << 32 | static_cast<std::uint32_t>(a);
  std::uint32_t out = 0;
  for (unsigned at = 0; at < 4; ++at) {
    const unsigned s = selector & 3;
    unsigned which = selector >> (at * 4) & 7;
    switch (mode) {
      case kForward4:
        which = (s + at) & 7;
        break;
      case kBackward4:
        which = (s - at) & 7;
        break;
      case kReplicate8:
        which = s;
        break;
      case kClampLeft:
        which = std::max(at, s);
        break;
      case kClampRight:
        which = std::min(at, s);
        break;
      case kReplicate16:
        which = (s & 1) * 2 + (at & 1);
        break;
      default:
        break;
    }
    auto byte = static_cast<std::uint8_t>(both >> (which * 8));
    // Replicates the sign of the byte in all of its bits.
    if (mode == kBytes && (selector >> (at * 4) & 8)) byte = byte & 0x80 ? 0xff : 0;
    out |= std::uint32_t{byte} << (at * 8);
  }
  return out;
}

void run_permute(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  if (i.option != kBytes)
    return each_lane(m, [&](unsigned lane) {
      out[lane] = permute(a[lane], b[lane], static_cast<std::uint32_t>(c[lane]), i.option);
    });
  each_result(out, m, [&](unsigned lane) -> std::uint64_t {
    return permute(a[lane], b[lane], static_cast<std::uint32_t>(c[lane]), kBytes);
  });
}

struct Reverse {
  template <class T>
  static T run(T a) {
    T out = 0;
    for (unsigned at = 0; at < sizeof(T) * 8; ++at) out = T(out << 1 | (a >> at & 1));
    return out;
  }
};

// The result has 32 bits.
template <class T, class Op>
void counted(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  each_lane(m, [&](unsigned lane) {
    out[lane] = static_cast<std::uint32_t>(Op::run(get<T>(a[lane]), i.option));
  });
}
struct CountZeros {
  template <class T>
  static int run(T a, unsigned) {
    return std::countl_zero(a);
  }
};
struct CountOnes {
  template <class T>
  static int run(T a, unsigned) {
    return std::popcount(a);
  }
};
// The position of the highest bit that differs from the sign; option: the distance of that bit from
// the highest position.
struct FindBit {
  template <class T>
  static int run(T a, unsigned as_shift) {
    using U = std::make_unsigned_t<T>;
    const U value = a < 0 ? static_cast<U>(~a) : static_cast<U>(a);
    const int at = static_cast<int>(sizeof(T) * 8) - 1 - std::countl_zero(value);
    return at >= 0 && as_shift ? static_cast<int>(sizeof(T) * 8) - 1 - at : at;
  }
};

void select(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const Mask which = warp.predicate(i.r) ^ i.invert_read;
  each_result(out, m, [&](unsigned lane) { return blend(which, lane, a[lane], b[lane]); });
}

void set_predicate(Warp& warp, const Instruction& i, Mask m, Mask value) {
  Mask& out = warp.predicate(i.p);
  out = (out & ~m) | (value & m);
}
// option: 0 and, 1 or, 2 xor
void predicate_logic(Warp& warp, const Instruction& i, Mask m) {
  const Mask a = warp.predicate(i.r) ^ i.invert_read;
  const Mask b = warp.predicate(i.q) ^ static_cast<Mask>(i.immediate);
  set_predicate(warp, i, m, i.option == 0 ? a & b : i.option == 1 ? a | b : a ^ b);
}
void predicate_move(Warp& warp, const Instruction& i, Mask m) {
  set_predicate(warp, i, m, warp.predicate(i.r) ^ i.invert_read);
}

// Splits a register into parts, and joins parts into a register.
void unpack(Warp& warp, const Instruction& i, Mask m) {
  const unsigned bits = i.option;
  each_lane(m, [&](unsigned lane) {
    const std::uint64_t whole = warp.reg(i.a)[lane];
    for (unsigned part = 0; part < i.count; ++part) {
      const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
      warp.reg(i.v[part])[lane] = whole >> (part * bits) & mask;
    }
  });
}
void pack(Warp& warp, const Instruction& i, Mask m) {
  const unsigned bits = i.option;
  each_lane(m, [&](unsigned lane) {
    std::uint64_t whole = 0;
    for (unsigned part = 0; part < i.count; ++part) {
      const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
      whole |= (warp.reg(i.v[part])[lane] & mask) << (part * bits);
    }
    warp.reg(i.a)[lane] = whole;
  });
}

Type unsigned_of(Type type) {
  switch (bytes_of(type)) {
    case 1:
      return Type::kU8;
    case 2:
      return Type::kU16;
    case 4:
      return Type::kU32;
    case 8:
      return Type::kU64;
    default:
      return Type::kNone;
  }
}

template <class Op>
Run binary_of(Type type) {
  return with_integer(unsigned_of(type),
                      [](auto t) -> Run { return best<binary<decltype(t), Op>>(); });
}

template <class Op, std::uint8_t kOption>
void decode_logic(Site& site) {
  const Type type = site.modifiers.take_type();
  if (!site.expect(3)) return;
  if (type == Type::kPred) {
    site.out.run = predicate_logic;
    site.out.option = kOption;
    site.out.p = site.predicate_target(site.operand(0));
    site.out.r = site.predicate(site.operand(1), site.out.invert_read);
    Mask invert = 0;
    site.out.q = site.predicate(site.operand(2), invert);
    site.out.immediate = invert;
    return;
  }
  site.out.run = binary_of<Op>(type);
  if (!site.out.run) site.refuse("it is not known for its type");
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  site.out.b = site.source(2, type);
}

template <class Op>
void decode_unary(Site& site) {
  const Type type = site.modifiers.take_type();
  if (!site.expect(2)) return;
  if (type == Type::kPred) {  // the operation is not
    site.out.run = predicate_move;
    site.out.p = site.predicate_target(site.operand(0));
    site.out.r = site.predicate(site.operand(1), site.out.invert_read);
    site.out.invert_read = ~site.out.invert_read;
    return;
  }
  site.out.run =
      with_integer(unsigned_of(type), [](auto t) -> Run { return best<unary<decltype(t), Op>>(); });
  if (!site.out.run) site.refuse("it is not known for its type");
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
}

template <bool kLeft>
void decode_shift(Site& site) {
  const Type type = site.modifiers.take_type();
  if (!site.expect(3)) return;
  site.out.run =
      with_integer(type, [](auto t) -> Run { return best<shift<decltype(t), kLeft>>(); });
  if (!site.out.run) site.refuse("it is not known for its type");
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  site.out.b = site.source(2, Type::kU32);
}

void three(Site& site, Type type) {
  if (!site.expect(4)) return;
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  site.out.b = site.source(2, type);
  site.out.c = site.source(3, type);
}

void decode_funnel(Site& site) {
  site.out.run = site.modifiers.take("l") ? best<funnel<true>>() : best<funnel<false>>();
  site.modifiers.take("r");
  site.out.option = site.modifiers.take("clamp") ? 1 : 0;
  site.modifiers.take("wrap");
  three(site, site.modifiers.take_type());
}

void decode_logic3(Site& site) {
  const Type type = site.modifiers.take_type();
  site.out.run = logic3;
  if (!site.expect(5)) return;
  if (site.operand(4).kind != Operand::Kind::kInteger) site.refuse("a table that is no number");
  site.out.immediate = site.operand(4).value;
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  site.out.b = site.source(2, type);
  site.out.c = site.source(3, type);
}

void decode_permute(Site& site) {
  constexpr std::string_view kModes[] = {"", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
  site.out.option = static_cast<std::uint8_t>(site.modifiers.take_one(kModes, 0));
  site.out.run = run_permute;
  three(site, site.modifiers.take_type());
}

template <class Op>
void decode_counted(Site& site) {
  if (std::is_same_v<Op, FindBit>) site.out.option = site.modifiers.take("shiftamt") ? 1 : 0;
  const Type type = site.modifiers.take_type();
  if (!site.expect(2)) return;
  if constexpr (std::is_same_v<Op, FindBit>) {
    site.out.run = with_integer(type, [](auto t) -> Run { return counted<decltype(t), Op>; });
  } else {
    site.out.run = bytes_of(type) == 8 ? counted<std::uint64_t, Op> : counted<std::uint32_t, Op>;
  }
  if (!site.out.run) site.refuse("it is not known for its type");
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
}

void decode_select(Site& site) {
  const Type type = site.modifiers.take_type();
  if (!site.expect(4)) return;
  site.out.run = best<select>();
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
  site.out.b = site.source(2, type);
  site.out.r = site.predicate(site.operand(3), site.out.invert_read);
}

// Decodes mov of several registers into one, or of one register into several.
void decode_parts(Site& site, Type type, const Operand& parts, const Operand& whole, Run run) {
  const std::size_t count = parts.parts.size();
  if ((count != 2 && count != 4) || bytes_of(type) > 8) {
    return site.refuse("a vector of a kind that it does not have here");
  }
  site.out.run = run;
  site.out.count = static_cast<std::uint8_t>(count);
  site.out.option = static_cast<std::uint8_t>(std::size_t{bytes_of(type)} * 8 / count);
  for (std::size_t i = 0; i < count; ++i) {
    site.out.v[i] = run == unpack ? site.target(parts.parts[i]) : site.source(parts.parts[i], type);
  }
  site.out.a = run == unpack ? site.source(whole, type) : site.target(whole);
}

void move_parts(Warp& warp, const Instruction& i, Mask m) {
  const std::uint32_t sources[] = {i.a, i.b, i.c, i.e};
  each_lane(m, [&](unsigned lane) {
    std::uint64_t values[4] = {};  // a source may be a later target
    for (unsigned part = 0; part < i.count; ++part) values[part] = warp.reg(sources[part])[lane];
    for (unsigned part = 0; part < i.count; ++part) warp.reg(i.v[part])[lane] = values[part];
  });
}

// Decodes mov.v2 and mov.v4.
void decode_vector(Site& site, Type type, std::size_t count) {
  const Operand &to = site.operand(0), &from = site.operand(1);
  if (to.parts.size() != count || from.parts.size() != count || bytes_of(type) > 8 ||
      type == Type::kPred) {
    return site.refuse("a vector of another size");
  }
  site.out.run = move_parts;
  site.out.count = static_cast<std::uint8_t>(count);
  std::uint32_t* const sources[] = {&site.out.a, &site.out.b, &site.out.c, &site.out.e};
  for (std::size_t i = 0; i < count; ++i) {
    site.out.v[i] = site.target(to.parts[i]);
    *sources[i] = site.source(from.parts[i], type);
  }
}

void decode_mov(Site& site) {
  const std::size_t count = site.modifiers.take("v2") ? 2 : site.modifiers.take("v4") ? 4 : 1;
  const Type type = site.modifiers.take_type();
  if (!site.expect(2)) return;
  if (count > 1) return decode_vector(site, type, count);
  const Operand& to = site.operand(0);
  const Operand& from = site.operand(1);
  if (to.kind == Operand::Kind::kVector) return decode_parts(site, type, to, from, unpack);
  if (from.kind == Operand::Kind::kVector) return decode_parts(site, type, from, to, pack);
  if (type == Type::kPred) {
    site.out.run = predicate_move;
    site.out.p = site.predicate_target(to);
    site.out.r = site.predicate(from, site.out.invert_read);
    return;
  }
  site.out.run = with_integer(unsigned_of(type),
                              [](auto t) -> Run { return best<unary<decltype(t), Same>>(); });
  if (!site.out.run) site.refuse("it is not known for its type");
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
}

constexpr Opcode kOpcodes[] = {
    {"and", decode_logic<And, 0>},
    {"or", decode_logic<Or, 1>},
    {"xor", decode_logic<Xor, 2>},
    {"not", decode_unary<Not>},
    {"cnot", decode_unary<NotAtAll>},
    {"brev", decode_unary<Reverse>},
    {"shl", decode_shift<true>},
    {"shr", decode_shift<false>},
    {"shf", decode_funnel},
    {"lop3", decode_logic3},
    {"prmt", decode_permute},
    {"clz", decode_counted<CountZeros>},
    {"popc", decode_counted<CountOnes>},
    {"bfind", decode_counted<FindBit>},
    {"selp", decode_select},
    {"mov", decode_mov},
};

}  // namespace

std::span<const Opcode> bit_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
