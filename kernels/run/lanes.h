// SPDX-License-Identifier: Apache-2.0
// Helpers for instructions that operate lane by lane.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "kernels/run/warp.h"

namespace cuvmm::kernels {

template <class Body>
inline void each_lane(Mask m, Body&& body) {
  if (m == kAll) [[likely]] {
    for (unsigned lane = 0; lane < kLanes; ++lane) body(lane);
    return;
  }
  for (; m != 0; m &= m - 1) body(static_cast<unsigned>(std::countr_zero(m)));
}

// Iterations of a loop that do not depend on each other.
#if defined(__clang__)
#define CUVMM_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define CUVMM_APART _Pragma("GCC ivdep")
#endif

/// each_lane for a body that reads and writes registers of its own lane alone, so that the compiler
/// may carry several lanes out at a time.
template <class Body>
inline void each_lane_apart(Mask m, Body&& body) {
  if (m == kAll) [[likely]] {
    CUVMM_APART
    for (unsigned lane = 0; lane < kLanes; ++lane) body(lane);
    return;
  }
  for (; m != 0; m &= m - 1) body(static_cast<unsigned>(std::countr_zero(m)));
}

/// A function with CUVMM_WIDE may use vectors of 32 bytes and multiply-add instructions. Only where
/// wide_vectors() is true may it be called.
#if defined(__x86_64__)
#define CUVMM_WIDE __attribute__((target("avx2,fma,bmi,bmi2")))
inline bool wide_vectors() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
#else
#define CUVMM_WIDE
inline bool wide_vectors() { return false; }
#endif

/// The value in a register: its lowest bytes.
template <class T>
inline T get(std::uint64_t bits) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(bits);
  } else if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(bits);
  } else {
    return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  }
}

/// The register for a value: extended to 64 bits, by the value's sign where its type has one.
template <class T>
inline std::uint64_t put(T value) {
  if constexpr (std::integral<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) &
           (std::is_signed_v<T> || sizeof(T) == 8 ? ~std::uint64_t{0}
                                                  : (std::uint64_t{1} << (sizeof(T) * 8 % 64)) - 1);
  } else if constexpr (sizeof(T) == 8) {
    return std::bit_cast<std::uint64_t>(value);
  } else {
    return std::bit_cast<std::uint32_t>(value);
  }
}

template <class T, class Op>
void unary(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  each_lane_apart(m, [&](unsigned lane) { out[lane] = put<T>(Op::run(get<T>(a[lane]))); });
}

template <class T, class Op>
void binary(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  each_lane_apart(
      m, [&](unsigned lane) { out[lane] = put<T>(Op::run(get<T>(a[lane]), get<T>(b[lane]))); });
}

template <class T, class Op>
void ternary(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  each_lane_apart(m, [&](unsigned lane) {
    out[lane] = put<T>(Op::run(get<T>(a[lane]), get<T>(b[lane]), get<T>(c[lane])));
  });
}

/// A lane's predicate.
inline bool is_set(Mask predicate, unsigned lane) { return predicate >> lane & 1; }

/// Calls `body` with a value of the integer type, or of an unsigned type of its width where it has
/// no sign; null for other types.
template <class Body>
Run with_integer(Type type, Body&& body) {
  switch (type) {
    case Type::kB8:
    case Type::kU8:
      return body(std::uint8_t{});
    case Type::kB16:
    case Type::kU16:
      return body(std::uint16_t{});
    case Type::kB32:
    case Type::kU32:
      return body(std::uint32_t{});
    case Type::kB64:
    case Type::kU64:
      return body(std::uint64_t{});
    case Type::kS8:
      return body(std::int8_t{});
    case Type::kS16:
      return body(std::int16_t{});
    case Type::kS32:
      return body(std::int32_t{});
    case Type::kS64:
      return body(std::int64_t{});
    default:
      return nullptr;
  }
}

}  // namespace cuvmm::kernels
