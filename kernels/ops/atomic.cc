// SPDX-License-Identifier: Apache-2.0
// atom and red.
#include "kernels/ops/float_format.h"
#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"

namespace cuvmm::kernels {

namespace {

// Each computes the new value from the old one and the operand; cas also has the value to write.
struct Add {
  template <class T>
  static T run(T old, T b, T) {
    if constexpr (std::integral<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(old) + static_cast<std::uint64_t>(b));
    } else {
      return old + b;
    }
  }
};
struct Min {
  template <class T>
  static T run(T old, T b, T) {
    return old < b ? old : b;
  }
};
struct Max {
  template <class T>
  static T run(T old, T b, T) {
    return old > b ? old : b;
  }
};
struct Exchange {
  template <class T>
  static T run(T, T b, T) {
    return b;
  }
};
struct CompareAndSwap {
  template <class T>
  static T run(T old, T b, T c) {
    return old == b ? c : old;
  }
};
struct And {
  template <class T>
  static T run(T old, T b, T) {
    return old & b;
  }
};
struct Or {
  template <class T>
  static T run(T old, T b, T) {
    return old | b;
  }
};
struct Xor {
  template <class T>
  static T run(T old, T b, T) {
    return old ^ b;
  }
};
struct Increment {
  template <class T>
  static T run(T old, T b, T) {
    return old >= b ? 0 : old + 1;
  }
};
struct Decrement {
  template <class T>
  static T run(T old, T b, T) {
    return old == 0 || old > b ? b : old - 1;
  }
};

// The operation is atomic for the CPU and for other processes as well.
template <class T, class Op>
void run_atomic(Warp& warp, const Instruction& i, Mask m) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>>;
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  each_lane(m, [&](unsigned lane) {
    auto* at = reinterpret_cast<Bits*>(
        warp.at(i, lane, a[lane] + i.immediate, static_cast<unsigned>(sizeof(T)), true));
    if (!at) return;
    Bits old = __atomic_load_n(at, __ATOMIC_RELAXED), changed;
    do {
      changed = static_cast<Bits>(put<T>(Op::run(get<T>(old), get<T>(b[lane]), get<T>(c[lane]))));
    } while (
        !__atomic_compare_exchange_n(at, &old, changed, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    if (i.option) warp.reg(i.v[0])[lane] = put<T>(get<T>(old));
  });
}

// Outside of shared memory, numbers below the normal ones count as 0.
void add_single(Warp& warp, const Instruction& i, Mask m) {
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  each_lane(m, [&](unsigned lane) {
    const std::uint64_t address = a[lane] + i.immediate;
    auto* at = reinterpret_cast<std::uint32_t*>(warp.at(i, lane, address, sizeof(float), true));
    if (!at) return;
    const bool flushes = i.space != Space::kShared &&
                         !(i.space == Space::kNone && (address & kWindowMask) == kSharedWindow);
    const auto ftz = [&](float value) {
      return flushes ? flushed(value, F32::kLeastNormal) : value;
    };
    std::uint32_t old = __atomic_load_n(at, __ATOMIC_RELAXED), changed;
    do {
      const float sum = ftz(ftz(F32::load(old)) + ftz(F32::load(b[lane])));
      changed = static_cast<std::uint32_t>(F32::store(sum));
    } while (
        !__atomic_compare_exchange_n(at, &old, changed, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    if (i.option) warp.reg(i.v[0])[lane] = old;
  });
}

// Operates on one or two halves.
template <class F>
void add_small(Warp& warp, const Instruction& i, Mask m) {
  using Bits = std::conditional_t<F::kParts == 2, std::uint32_t, std::uint16_t>;
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  each_lane(m, [&](unsigned lane) {
    auto* at = reinterpret_cast<Bits*>(
        warp.at(i, lane, a[lane] + i.immediate, static_cast<unsigned>(sizeof(Bits)), true));
    if (!at) return;
    Bits old = __atomic_load_n(at, __ATOMIC_RELAXED), changed;
    do {
      std::uint64_t sum = F::store(sticky_sum(F::load(old), F::load(b[lane])));
      if (F::kParts == 2)
        sum |= F::store(sticky_sum(F::load(old >> 16), F::load(b[lane] >> 16))) << 16;
      changed = static_cast<Bits>(sum);
    } while (
        !__atomic_compare_exchange_n(at, &old, changed, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    if (i.option) warp.reg(i.v[0])[lane] = old;
  });
}

template <class Op>
Run of_integers(Type type) {
  switch (type) {
    case Type::kS32:
      return run_atomic<std::int32_t, Op>;
    case Type::kS64:
      return run_atomic<std::int64_t, Op>;
    case Type::kB64:
    case Type::kU64:
      return run_atomic<std::uint64_t, Op>;
    case Type::kB32:
    case Type::kU32:
      return run_atomic<std::uint32_t, Op>;
    default:
      return nullptr;
  }
}

Run of_add(Type type) {
  switch (type) {
    case Type::kF32:
      return add_single;
    case Type::kF64:
      return run_atomic<double, Add>;
    case Type::kF16:
      return add_small<Small<kHalf, 1>>;
    case Type::kF16x2:
      return add_small<Small<kHalf, 2>>;
    case Type::kBF16:
      return add_small<Small<kBrain, 1>>;
    case Type::kBF16x2:
      return add_small<Small<kBrain, 2>>;
    default:
      return of_integers<Add>(type);
  }
}

constexpr std::string_view kNames[] = {"add", "min", "max", "exch", "cas",
                                       "and", "or",  "xor", "inc",  "dec"};
enum Which : std::size_t { kAdd, kMin, kMax, kExchange, kCas, kAnd, kOr, kXor, kInc, kDec };

Run choose(std::size_t which, Type type) {
  switch (which) {
    case kAdd:
      return of_add(type);
    case kMin:
      return of_integers<Min>(type);
    case kMax:
      return of_integers<Max>(type);
    case kExchange:
      return of_integers<Exchange>(type);
    case kCas:
      return type == Type::kB16 ? Run{run_atomic<std::uint16_t, CompareAndSwap>}
                                : of_integers<CompareAndSwap>(type);
    case kAnd:
      return of_integers<And>(type);
    case kOr:
      return of_integers<Or>(type);
    case kXor:
      return of_integers<Xor>(type);
    case kInc:
      return type == Type::kU32 ? Run{run_atomic<std::uint32_t, Increment>} : nullptr;
    case kDec:
      return type == Type::kU32 ? Run{run_atomic<std::uint32_t, Decrement>} : nullptr;
    default:
      return nullptr;
  }
}

// Each part of a vector is an operation of its own. The address is decoded.
template <bool kReturns>
void decode_vector(Site& site, std::size_t parts, Type type) {
  const Operand& values = site.operand(kReturns ? 2 : 1);
  const Operand& olds = site.operand(0);
  if (values.parts.size() != parts || (kReturns && olds.parts.size() != parts))
    return site.refuse("a vector of another size");
  for (std::size_t part = 0; part < parts; ++part) {
    if (kReturns) site.out.v[0] = site.target(olds.parts[part]);
    site.out.b = site.source(values.parts[part], type);
    if (part + 1 == parts) return;
    site.add_before(site.out);
    site.out.immediate += bytes_of(type);
  }
}

template <bool kReturns>
void decode_atomic(Site& site) {
  const Space space = site.modifiers.take_space();
  site.out.effect = kLoads | kStores | kStrong;
  for (const char* word : {"acquire", "release", "acq_rel", "sc"})
    site.out.effect |= site.modifiers.has(word) ? kOrders : 0;
  for (const char* word : {"relaxed", "acquire", "release", "acq_rel", "sc", "cta", "cluster",
                           "gpu", "sys", "noftz"}) {
    site.modifiers.take(word);
  }
  const std::size_t which = site.modifiers.take_one(kNames, std::size(kNames));
  const std::size_t parts = site.modifiers.take("v2")   ? 2
                            : site.modifiers.take("v4") ? 4
                            : site.modifiers.take("v8") ? 8
                                                        : 1;
  const std::size_t hints = site.modifiers.take("L2::cache_hint") ? 1 : 0;
  const Type type = site.modifiers.take_type();
  site.out.run = choose(which, type);
  site.out.width = static_cast<std::uint8_t>(bytes_of(type));
  if (!site.out.run) return site.refuse("it is not known for its type");
  const std::size_t first = kReturns ? 1 : 0;
  if (!site.expect(first + (which == kCas ? 3 : 2) + hints)) return;
  site.out.option = kReturns ? 1 : 0;
  site.address(site.operand(first), space);
  if (parts > 1) return decode_vector<kReturns>(site, parts, type);
  if (kReturns) site.out.v[0] = site.target(0);
  site.out.b = site.source(first + 1, type);
  if (which == kCas) site.out.c = site.source(first + 2, type);
}

constexpr Opcode kOpcodes[] = {{"atom", decode_atomic<true>}, {"red", decode_atomic<false>}};

}  // namespace

std::span<const Opcode> atomic_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
