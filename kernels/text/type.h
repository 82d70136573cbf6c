// SPDX-License-Identifier: Apache-2.0
// The types and state spaces of PTX.
#pragma once

#include <cstdint>
#include <string_view>

namespace cuvmm::kernels {

enum class Type : std::uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kU16x2,
  kS16x2,
  kF16,
  kF16x2,
  kBF16,
  kBF16x2,
  kF32,
  kF64,
};

/// The type by its name without the dot, "u32"; kNone for a name that is no type.
Type type_named(std::string_view name);
/// The size in memory, in bytes; 0 for kNone.
unsigned bytes_of(Type type);
bool is_float(Type type);
bool is_signed(Type type);

enum class Space : std::uint8_t {
  kNone,  ///< an instruction without a space uses generic addresses
  kRegister,
  kGlobal,
  kConst,
  kShared,
  kLocal,
  kParam,
};

/// The space by its name, without the dot and without a qualifier ("shared" for "shared::cta").
Space space_named(std::string_view name);

}  // namespace cuvmm::kernels
