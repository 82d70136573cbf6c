// SPDX-License-Identifier: Apache-2.0
// Loads and stores, and conversions between the addresses of the spaces.
#include <algorithm>

#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"
#include "kernels/run/warp.h"

namespace cuvmm::kernels {

namespace {

// Reads the value in a single access, as a GPU does, because the CPU may access the memory
// meanwhile.
template <class T>
T read(const char* from) {
  return __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_RELAXED);
}
template <class T>
void write(char* to, T value) {
  __atomic_store_n(reinterpret_cast<T*>(to), value, __ATOMIC_RELAXED);
}

/// How far the address of each lane lies behind that of the lane before.
enum class Pattern : std::uint8_t { kOther, kEqual, kNeighbours };

Pattern pattern_of(const std::uint64_t* a, unsigned size) {
  const std::uint64_t step = a[1] - a[0];
  if (step != 0 && step != size) return Pattern::kOther;
  std::uint64_t differs = 0;
  for (unsigned lane = 1; lane < kLanes; ++lane) differs |= a[lane] ^ (a[0] + lane * step);
  return differs != 0 ? Pattern::kOther : step == 0 ? Pattern::kEqual : Pattern::kNeighbours;
}

// Loads for all lanes at once, as most loads can be; false: nothing is loaded.
template <class T>
bool load_together(Warp& warp, const Instruction& i, const std::uint64_t* a) {
  const Pattern pattern = pattern_of(a, sizeof(T));
  if (pattern == Pattern::kOther) return false;
  const bool equal = pattern == Pattern::kEqual;
  const char* const from = warp.span(i, a[0] + i.immediate, sizeof(T), equal ? 1 : kLanes, false);
  if (!from) return false;
  std::uint64_t* const out = warp.reg(i.v[0]);
  if (equal) {
    std::fill_n(out, kLanes, put<T>(read<T>(from)));
    return true;
  }
  for (unsigned lane = 0; lane < kLanes; ++lane)
    out[lane] = put<T>(read<T>(from + lane * sizeof(T)));
  return true;
}

template <class T>
bool store_together(Warp& warp, const Instruction& i, const std::uint64_t* a) {
  if (pattern_of(a, sizeof(T)) != Pattern::kNeighbours) return false;
  char* const to = warp.span(i, a[0] + i.immediate, sizeof(T), kLanes, true);
  if (!to) return false;
  const std::uint64_t* const in = warp.reg(i.v[0]);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    write<T>(to + lane * sizeof(T), static_cast<T>(in[lane]));
  return true;
}

// The loaded value is an integer of the type, extended by its sign.
template <class T>
void load(Warp& warp, const Instruction& i, Mask m) {
  const std::uint64_t* const a = warp.reg(i.a);
  if (m == kAll && i.count == 1 && load_together<T>(warp, i, a)) return;
  each_lane(m, [&](unsigned lane) {
    const char* from =
        warp.at(i, lane, a[lane] + i.immediate, static_cast<unsigned>(sizeof(T)) * i.count, false);
    if (!from) return;
    for (unsigned part = 0; part < i.count; ++part) {
      warp.reg(i.v[part])[lane] = put<T>(read<T>(from + part * sizeof(T)));
    }
  });
}

template <class T>
void store(Warp& warp, const Instruction& i, Mask m) {
  const std::uint64_t* const a = warp.reg(i.a);
  if (m == kAll && i.count == 1 && store_together<T>(warp, i, a)) return;
  each_lane(m, [&](unsigned lane) {
    char* to =
        warp.at(i, lane, a[lane] + i.immediate, static_cast<unsigned>(sizeof(T)) * i.count, true);
    if (!to) return;
    for (unsigned part = 0; part < i.count; ++part) {
      write<T>(to + part * sizeof(T), static_cast<T>(warp.reg(i.v[part])[lane]));
    }
  });
}

// Takes modifiers for caches and for the order in which other threads see an access: here every
// access takes effect at once.
void take_hints(Modifiers& modifiers) {
  for (const char* hint :
       {"volatile", "relaxed", "acquire", "release", "weak", "mmio", "cta", "cluster", "gpu", "sys",
        "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "unified"}) {
    modifiers.take(hint);
  }
  while (!modifiers.take_beginning("L1::").empty() || !modifiers.take_beginning("L2::").empty()) {
  }
}

unsigned take_count(Modifiers& modifiers) {
  return modifiers.take("v2") ? 2 : modifiers.take("v4") ? 4 : 1;
}

Type memory_type(Type type) {
  switch (type) {
    case Type::kF16:
    case Type::kBF16:
      return Type::kB16;
    case Type::kF16x2:
    case Type::kBF16x2:
    case Type::kF32:
      return Type::kB32;
    case Type::kF64:
      return Type::kB64;
    default:
      return type;
  }
}

template <bool kLoad>
void decode_access(Site& site) {
  Instruction& out = site.out;
  const Space space = site.modifiers.take_space();
  take_hints(site.modifiers);
  out.count = static_cast<std::uint8_t>(take_count(site.modifiers));
  const Type type = site.modifiers.take_type();
  out.run = with_integer(memory_type(type), [](auto t) -> Run {
    return kLoad ? Run{load<decltype(t)>} : Run{store<decltype(t)>};
  });
  if (!out.run) return site.refuse("it is not known for its type");
  if (!site.expect(2)) return;
  site.address(site.operand(kLoad ? 1 : 0), space);
  const Operand& value = site.operand(kLoad ? 0 : 1);
  const bool vector = value.kind == Operand::Kind::kVector;
  if ((vector ? value.parts.size() : 1) != out.count) {
    return site.refuse("a vector of another size");
  }
  for (std::size_t i = 0; i < out.count; ++i) {
    const Operand& part = vector ? value.parts[i] : value;
    out.v[i] = kLoad ? site.target(part) : site.source(part, type);
  }
}

std::uint64_t window_of(Space space) {
  switch (space) {
    case Space::kShared:
      return kSharedWindow;
    case Space::kLocal:
      return kLocalWindow;
    case Space::kParam:
      return kParamWindow;
    default:
      return 0;
  }
}

constexpr std::uint64_t kNoWindow = ~kWindowMask;  // of no address

void add_offset(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  each_lane_apart(m, [&](unsigned lane) { out[lane] = a[lane] + i.immediate; });
}

// Global and constant memory have their own addresses as generic addresses.
void decode_cvta(Site& site) {
  const bool to = site.modifiers.take("to");
  const Space space = site.modifiers.take_space();
  const Type type = site.modifiers.take_type();
  if (space == Space::kNone || !site.expect(2)) return site.refuse("its space is not known");
  if (bytes_of(type) != 8 && window_of(space) != 0) {
    return site.refuse("generic addresses have 64 bits");
  }
  site.out.run = add_offset;
  site.out.immediate = to ? -window_of(space) : window_of(space);
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
}

void is_space(Warp& warp, const Instruction& i, Mask m) {
  const std::uint64_t* const a = warp.reg(i.a);
  Mask out = 0;
  each_lane(m, [&](unsigned lane) {
    const std::uint64_t window = a[lane] & kWindowMask;
    const bool apart = window == kSharedWindow || window == kLocalWindow || window == kParamWindow;
    const bool is = i.immediate ? window == i.immediate : !apart;
    out |= static_cast<Mask>(is) << lane;
  });
  Mask& p = warp.predicate(i.p);
  p = (p & ~m) | out;
}

void decode_isspacep(Site& site) {
  const Space space = site.modifiers.take_space();
  if (space == Space::kNone || !site.expect(2)) return site.refuse("its space is not known");
  // The generic addresses of constants are not apart from those of global memory here.
  if (space == Space::kConst && site.has_constants()) {
    return site.refuse("it is not known in a module with variables in `.const`");
  }
  site.out.run = is_space;
  site.out.immediate = space == Space::kConst ? kNoWindow : window_of(space);
  site.out.p = site.predicate_target(site.operand(0));
  site.out.a = site.source(1, Type::kU64);
}

void nothing(Warp&, const Instruction&, Mask) {}

// Instructions that only make a program faster, or that order accesses which are in order already.
void decode_nothing(Site& site) {
  site.out.run = nothing;
  while (!site.modifiers.unknown().empty()) site.modifiers.take(site.modifiers.unknown());
}

// cp.async copies at once; an instruction that waits for it continues at once.
template <unsigned kSize>
void copy(Warp& warp, const Instruction& i, Mask m) {
  Instruction to = i, from = i;
  to.space = Space::kShared;
  from.space = Space::kGlobal;
  each_lane(m, [&](unsigned lane) {
    char* out = warp.at(to, lane, warp.reg(i.a)[lane] + i.immediate, kSize, true);
    const std::uint64_t all = i.b ? warp.reg(i.b)[lane] : kSize;
    const std::uint64_t address = warp.reg(i.c)[lane] + i.target;
    const char* in = out && all ? warp.at(from, lane, address, kSize, false) : nullptr;
    if (!out || (all && !in)) return;
    for (unsigned byte = 0; byte < kSize; ++byte) out[byte] = byte < all ? in[byte] : '\0';
  });
}

void decode_cp(Site& site) {
  if (!site.modifiers.take("async")) return site.refuse("it is not known");
  if (site.modifiers.take("commit_group") || site.modifiers.take("wait_group") ||
      site.modifiers.take("wait_all")) {
    site.out.run = nothing;
    return;
  }
  if (!site.modifiers.take("shared") && !site.modifiers.take("shared::cta")) {
    return site.refuse("it is not known");
  }
  take_hints(site.modifiers);
  if (!site.modifiers.take("global") || !site.expect(3, 4)) return site.refuse("it is not known");
  site.address(site.operand(1), Space::kGlobal);
  const std::uint32_t from = site.out.a;
  const std::uint64_t offset = site.out.immediate;
  site.address(site.operand(0), Space::kShared);
  site.out.c = from;
  site.out.target = static_cast<std::uint32_t>(offset);
  if (offset > 0x7fffffff) site.refuse("an offset that is too large");
  const Operand& bytes = site.operand(2);
  const std::uint64_t size = bytes.kind == Operand::Kind::kInteger ? bytes.value : 0;
  if (size != 4 && size != 8 && size != 16) site.refuse("it copies 4, 8 or 16 bytes");
  site.out.run = size == 16 ? copy<16> : size == 8 ? copy<8> : copy<4>;
  if (site.operands() == 4) site.out.b = site.source(3, Type::kU32);
}

constexpr Opcode kOpcodes[] = {
    {"ld", decode_access<true>},       {"ldu", decode_access<true>},
    {"st", decode_access<false>},      {"cvta", decode_cvta},
    {"isspacep", decode_isspacep},     {"cp", decode_cp},
    {"prefetch", decode_nothing},      {"prefetchu", decode_nothing},
    {"applypriority", decode_nothing}, {"discard", decode_nothing},
    {"membar", decode_nothing},        {"fence", decode_nothing},
    {"nanosleep", decode_nothing},     {"griddepcontrol", decode_nothing},
    {"setmaxnreg", decode_nothing},    {"pmevent", decode_nothing},
};

}  // namespace

std::span<const Opcode> memory_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
