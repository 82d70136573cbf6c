// SPDX-License-Identifier: Apache-2.0
// All instructions that are known.
#pragma once

#include <span>

#include "kernels/instruction/site.h"

namespace cuvmm::kernels {

/// By the opcode without its modifiers; null: it is not known.
Decode opcode_named(std::string_view base);

// By family.
std::span<const Opcode> integer_opcodes();
std::span<const Opcode> carry_opcodes();
std::span<const Opcode> bit_opcodes();
std::span<const Opcode> compare_opcodes();
std::span<const Opcode> float_opcodes();
std::span<const Opcode> convert_opcodes();
std::span<const Opcode> memory_opcodes();
std::span<const Opcode> atomic_opcodes();
std::span<const Opcode> warp_opcodes();
std::span<const Opcode> other_opcodes();

/// add, sub, mul, mad, div, neg, abs, min, max for floating point: by these two families.
bool decode_float(Site& site, Type type);

}  // namespace cuvmm::kernels
