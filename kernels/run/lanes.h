// SPDX-License-Identifier: Apache-2.0
// Helpers for instructions that operate lane by lane.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "kernels/run/mask.h"
#include "kernels/run/warp.h"

namespace cuvmm::kernels {

#if defined(__x86_64__)
#define CUVMM_WIDE __attribute__((flatten, target("avx2,fma,bmi,bmi2,popcnt")))
inline bool wide_vectors() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}
#else
#define CUVMM_WIDE
inline bool wide_vectors() { return false; }
#endif

/// A Run with vectors of 32 bytes and multiply-add instructions, for CPUs where wide_vectors() is
/// true.
template <Run kRun>
CUVMM_WIDE void wide(Warp& warp, const Instruction& i, Mask m) {
  kRun(warp, i, m);
}

/// The quickest form of a Run for this CPU.
template <Run kRun>
Run best() {
  return wide_vectors() ? Run{wide<kRun>} : kRun;
}

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
  each_result(out, m, [&](unsigned lane) { return put<T>(Op::run(get<T>(a[lane]))); });
}

template <class T, class Op>
void binary(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  each_result(out, m,
              [&](unsigned lane) { return put<T>(Op::run(get<T>(a[lane]), get<T>(b[lane]))); });
}

template <class T, class Op>
void ternary(Warp& warp, const Instruction& i, Mask m) {
  std::uint64_t* const out = warp.reg(i.v[0]);
  const std::uint64_t* const a = warp.reg(i.a);
  const std::uint64_t* const b = warp.reg(i.b);
  const std::uint64_t* const c = warp.reg(i.c);
  each_result(out, m, [&](unsigned lane) {
    return put<T>(Op::run(get<T>(a[lane]), get<T>(b[lane]), get<T>(c[lane])));
  });
}

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
