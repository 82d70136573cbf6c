// SPDX-License-Identifier: Apache-2.0
// Loads and stores, and conversions between the addresses of the spaces.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/async/bulk.h"
#include "kernels/async/mbarrier.h"
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

// ThreadSanitizer must see each access by itself.
#if defined(__SANITIZE_THREAD__)
constexpr bool kTogether = false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool kTogether = false;
#else
constexpr bool kTogether = true;
#endif
#else
constexpr bool kTogether = true;
#endif

/// The lanes' accesses as one: all at an address, or each behind that of the lane before.
struct Joined {
  char* bytes = nullptr;          ///< of the first lane; null: the lanes' accesses do not join
  unsigned first = 0, lanes = 0;  ///< up to the last lane of the mask, with lanes that it lacks
  bool equal = false;
};

Joined join(Warp& warp, const Instruction& i, Mask m, unsigned size, bool writes) {
  const std::uint64_t* const a = warp.reg(i.a);
  Joined out;
  out.first = static_cast<unsigned>(std::countr_zero(m));
  out.lanes = kLanes - static_cast<unsigned>(std::countl_zero(m)) - out.first;
  const std::uint64_t base = a[out.first];
  std::uint64_t unequal = 0, apart = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t counts = (m >> lane & 1) != 0 ? ~std::uint64_t{0} : 0;
    const auto behind = static_cast<std::int64_t>(lane) - static_cast<std::int64_t>(out.first);
    const std::uint64_t distance = a[lane] - base;
    unequal |= distance & counts;
    apart |=
        (distance ^ static_cast<std::uint64_t>(behind * static_cast<std::int64_t>(size))) & counts;
  }
  out.equal = unequal == 0;
  if (!kTogether || (!out.equal && apart != 0) || (out.equal && writes)) return out;
  out.bytes = warp.span(i, base + i.immediate, size, out.equal ? 1 : out.lanes, writes);
  return out;
}

// Loads for all lanes at once, as most loads can be; false: nothing is loaded.
template <class T, unsigned kParts>
bool load_together(Warp& warp, const Instruction& i, Mask m) {
  constexpr unsigned kSize = sizeof(T) * kParts;
  const Joined from = join(warp, i, m, kSize, false);
  if (!from.bytes) return false;
  if (from.equal) {
    for (unsigned part = 0; part < kParts; ++part) {
      const std::uint64_t value = put<T>(read<T>(from.bytes + part * sizeof(T)));
      each_result(warp.reg(i.v[part]), m, [&](unsigned) { return value; });
    }
    return true;
  }
  T values[kLanes * kParts];
  if (m == kAll) {
    std::memcpy(values, from.bytes, sizeof values);
  } else {
    std::memset(values, 0, sizeof values);
    std::memcpy(values + from.first * kParts, from.bytes, std::size_t{from.lanes} * kSize);
  }
  for (unsigned part = 0; part < kParts; ++part) {
    each_result(warp.reg(i.v[part]), m,
                [&](unsigned lane) { return put<T>(values[lane * kParts + part]); });
  }
  return true;
}

template <class T, unsigned kParts>
bool store_together(Warp& warp, const Instruction& i, Mask m) {
  constexpr unsigned kSize = sizeof(T) * kParts;
  const Joined to = join(warp, i, m, kSize, true);
  if (!to.bytes) return false;
  T values[kLanes * kParts];
  for (unsigned part = 0; part < kParts; ++part) {
    const std::uint64_t* const in = warp.reg(i.v[part]);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      values[lane * kParts + part] = static_cast<T>(in[lane]);
  }
  if (m == kAll) {
    std::memcpy(to.bytes, values, sizeof values);
    return true;
  }
  each_lane(m, [&](unsigned lane) {
    for (unsigned part = 0; part < kParts; ++part)
      write<T>(to.bytes + std::size_t{lane - to.first} * kSize + part * sizeof(T),
               values[lane * kParts + part]);
  });
  return true;
}

// Loads and stores within one object, at any distance of each other.
template <class T, unsigned kParts>
Warp::Reach around(Warp& warp, const Instruction& i, Mask m, bool writes) {
  constexpr unsigned kSize = sizeof(T) * kParts;
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t first = a[std::countr_zero(m)] + i.immediate;
  Warp::Reach reach = warp.reach(i, first, kSize, writes);
  if (!kTogether || reach.room < kSize) return {};
  const std::uint64_t last = reach.room - kSize;
  std::uint64_t bad = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t counts = (m >> lane & 1) != 0 ? ~std::uint64_t{0} : 0;
    const std::uint64_t address = a[lane] + i.immediate, offset = address - reach.begin;
    const std::uint64_t outside = offset > last ? 1 : 0;
    bad |= ((address & (kSize - 1)) | outside) & counts;
  }
  return bad == 0 ? reach : Warp::Reach{};
}

template <class T, unsigned kParts>
bool gather(Warp& warp, const Instruction& i, Mask m) {
  const Warp::Reach reach = around<T, kParts>(warp, i, m, false);
  if (!reach.bytes) return false;
  const std::uint64_t* const a = warp.reg(i.a);
  alignas(64) std::uint64_t offsets[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    offsets[lane] = (m >> lane & 1) != 0 ? a[lane] + i.immediate - reach.begin : 0;
  for (unsigned part = 0; part < kParts; ++part) {
    T values[kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane)
      std::memcpy(&values[lane], reach.bytes + offsets[lane] + part * sizeof(T), sizeof(T));
    each_result(warp.reg(i.v[part]), m, [&](unsigned lane) { return put<T>(values[lane]); });
  }
  return true;
}

template <class T, unsigned kParts>
bool scatter(Warp& warp, const Instruction& i, Mask m) {
  const Warp::Reach reach = around<T, kParts>(warp, i, m, true);
  if (!reach.bytes) return false;
  const std::uint64_t* const a = warp.reg(i.a);
  each_lane(m, [&](unsigned lane) {
    char* const to = reach.bytes + (a[lane] + i.immediate - reach.begin);
    for (unsigned part = 0; part < kParts; ++part)
      write<T>(to + part * sizeof(T), static_cast<T>(warp.reg(i.v[part])[lane]));
  });
  return true;
}

// The loaded value is an integer of the type, extended by its sign.
template <class T, unsigned kParts>
void load(Warp& warp, const Instruction& i, Mask m) {
  constexpr unsigned kSize = sizeof(T) * kParts;
  if (load_together<T, kParts>(warp, i, m) || gather<T, kParts>(warp, i, m)) return;
  const std::uint64_t* const a = warp.reg(i.a);
  each_lane(m, [&](unsigned lane) {
    const std::uint64_t address = a[lane] + i.immediate;
    const char* from = warp.near(i, lane, address, kSize, false);
    if (!from) [[unlikely]] {
      from = warp.at(i, lane, address, kSize, false);
      if (!from) return;
    }
    for (unsigned part = 0; part < kParts; ++part)
      warp.reg(i.v[part])[lane] = put<T>(read<T>(from + part * sizeof(T)));
  });
}

template <class T, unsigned kParts>
void store(Warp& warp, const Instruction& i, Mask m) {
  constexpr unsigned kSize = sizeof(T) * kParts;
  if (store_together<T, kParts>(warp, i, m) || scatter<T, kParts>(warp, i, m)) return;
  const std::uint64_t* const a = warp.reg(i.a);
  each_lane(m, [&](unsigned lane) {
    const std::uint64_t address = a[lane] + i.immediate;
    char* to = warp.near(i, lane, address, kSize, true);
    if (!to) [[unlikely]] {
      to = warp.at(i, lane, address, kSize, true);
      if (!to) return;
    }
    for (unsigned part = 0; part < kParts; ++part)
      write<T>(to + part * sizeof(T), static_cast<T>(warp.reg(i.v[part])[lane]));
  });
}

// Takes modifiers for caches and for the order in which other threads see an access: here every
// access takes effect at once.
// Returns the access's MemoryEffect beside reads and writes.
std::uint8_t take_hints(Modifiers& modifiers) {
  std::uint8_t effect = 0;
  for (const char* strong : {"volatile", "relaxed", "mmio"})
    effect |= modifiers.has(strong) ? kStrong : 0;
  if (modifiers.has("volatile")) effect |= kVolatile;
  for (const char* ordered : {"acquire", "release"})
    effect |= modifiers.has(ordered) ? kStrong | kOrders : 0;
  for (const char* hint :
       {"volatile", "relaxed", "acquire", "release", "weak", "mmio", "cta", "cluster", "gpu", "sys",
        "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "unified"}) {
    modifiers.take(hint);
  }
  while (!modifiers.take_beginning("L1::").empty() || !modifiers.take_beginning("L2::").empty()) {
  }
  return effect;
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

template <bool kLoad, class T>
Run access_of(unsigned parts) {
  switch (parts) {
    case 1:
      return kLoad ? best<load<T, 1>>() : best<store<T, 1>>();
    case 2:
      return kLoad ? best<load<T, 2>>() : best<store<T, 2>>();
    case 4:
      return kLoad ? best<load<T, 4>>() : best<store<T, 4>>();
    default:
      return nullptr;
  }
}

template <bool kLoad>
void decode_access(Site& site) {
  Instruction& out = site.out;
  if (!kLoad && site.modifiers.take("async")) return decode_store_async(site);
  const Space space = site.modifiers.take_space();
  const std::size_t policies = site.modifiers.has("L2::cache_hint") ? 1 : 0;
  out.effect = take_hints(site.modifiers) | (kLoad ? kLoads : kStores);
  out.count = static_cast<std::uint8_t>(take_count(site.modifiers));
  const Type type = site.modifiers.take_type();
  out.width = static_cast<std::uint8_t>(bytes_of(type) * out.count);
  out.run = with_integer(memory_type(type),
                         [&](auto t) -> Run { return access_of<kLoad, decltype(t)>(out.count); });
  if (!out.run) return site.refuse("it is not known for its type");
  if (!site.expect(2 + policies)) return;
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
  each_result(out, m, [&](unsigned lane) { return a[lane] + i.immediate; });
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
  site.out.run = best<add_offset>();
  site.out.immediate = to ? -window_of(space) : window_of(space);
  site.out.v[0] = site.target(0);
  site.out.a = site.source(1, type);
}

// option: shared memory is the thread's own block's alone
void is_space(Warp& warp, const Instruction& i, Mask m) {
  const std::uint64_t* const a = warp.reg(i.a);
  Mask out = 0;
  each_lane(m, [&](unsigned lane) {
    const std::uint64_t rank = (a[lane] & kRankMask) >> kRankAt;
    if (i.option && rank != 0 && rank != warp.block().rank() + std::uint64_t{1}) return;
    const std::uint64_t window = a[lane] & kWindowMask;
    const bool apart = window == kSharedWindow || window == kLocalWindow || window == kParamWindow;
    const bool is = i.immediate ? window == i.immediate : !apart;
    out |= static_cast<Mask>(is) << lane;
  });
  Mask& p = warp.predicate(i.p);
  p = (p & ~m) | out;
}

void decode_isspacep(Site& site) {
  const bool own = !site.modifiers.has("shared::cluster");
  const Space space = site.modifiers.take_space();
  if (space == Space::kNone || !site.expect(2)) return site.refuse("its space is not known");
  // The generic addresses of constants are not apart from those of global memory here.
  if (space == Space::kConst && site.has_constants()) {
    return site.refuse("it is not known in a module with variables in `.const`");
  }
  site.out.run = is_space;
  site.out.option = space == Space::kShared && own ? 1 : 0;
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

void put_policy(Warp& warp, const Instruction& i, Mask m) {
  each_lane(m, [&](unsigned lane) { warp.reg(i.v[0])[lane] = 0; });
}

// Here each access takes effect at once, so that only a Watcher needs to know of a fence.
void decode_fence(Site& site) {
  const bool of_block = site.modifiers.has("cta");
  decode_nothing(site);
  site.out.effect = of_block ? kOrdersBlock : kOrders;
}

// A policy of the caches, which no program can look into.
void decode_policy(Site& site) {
  decode_nothing(site);
  if (site.operands() == 0) return site.refuse("it has no operand");
  site.out.v[0] = site.target(0);
  site.out.run = put_policy;
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
  if (site.modifiers.take("reduce")) return decode_bulk(site, true);
  if (!site.modifiers.take("async")) return site.refuse("it is not known");
  if (site.modifiers.take("bulk")) return decode_bulk(site, false);
  if (site.modifiers.take("mbarrier") && site.modifiers.take("arrive"))
    return decode_copy_arrival(site);
  if (site.modifiers.take("commit_group") || site.modifiers.take("wait_group") ||
      site.modifiers.take("wait_all")) {
    site.out.run = nothing;
    return;
  }
  if (!site.modifiers.take("shared") && !site.modifiers.take("shared::cta")) {
    return site.refuse("it is not known");
  }
  const std::size_t policies = site.modifiers.has("L2::cache_hint") ? 1 : 0;
  take_hints(site.modifiers);
  if (!site.modifiers.take("global") || !site.expect(3 + policies, 4 + policies))
    return site.refuse("it is not known");
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
  if (site.operands() == 4 + policies) site.out.b = site.source(3, Type::kU32);
}

constexpr Opcode kOpcodes[] = {
    {"ld", decode_access<true>},       {"ldu", decode_access<true>},
    {"st", decode_access<false>},      {"cvta", decode_cvta},
    {"isspacep", decode_isspacep},     {"cp", decode_cp},
    {"prefetch", decode_nothing},      {"prefetchu", decode_nothing},
    {"applypriority", decode_nothing}, {"discard", decode_nothing},
    {"membar", decode_fence},          {"fence", decode_fence},
    {"nanosleep", decode_nothing},     {"griddepcontrol", decode_nothing},
    {"createpolicy", decode_policy},   {"setmaxnreg", decode_nothing},
    {"pmevent", decode_nothing},
};

}  // namespace

std::span<const Opcode> memory_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
