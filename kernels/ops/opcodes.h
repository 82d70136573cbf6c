// SPDX-License-Identifier: Apache-2.0
// All opcodes that the decoder knows.
#pragma once

#include <span>

#include "kernels/instruction/site.h"

namespace cuvmm::kernels {

/// The decoder of an opcode, which is named without its modifiers; null: the opcode is unknown.
Decode opcode_named(std::string_view base);

// The opcodes of each family.
std::span<const Opcode> integer_opcodes();
std::span<const Opcode> carry_opcodes();
std::span<const Opcode> bit_opcodes();
std::span<const Opcode> field_opcodes();
std::span<const Opcode> video_opcodes();
std::span<const Opcode> compare_opcodes();
std::span<const Opcode> float_opcodes();
std::span<const Opcode> convert_opcodes();
std::span<const Opcode> memory_opcodes();
std::span<const Opcode> atomic_opcodes();
std::span<const Opcode> warp_opcodes();
std::span<const Opcode> matrix_opcodes();
std::span<const Opcode> texture_opcodes();
std::span<const Opcode> fragment_opcodes();
std::span<const Opcode> other_opcodes();

/// Decodes add, sub, mul, mad, div, neg, abs, min and max of floating point, which integer.cc
/// passes on.
bool decode_float(Site& site, Type type);

/// Decodes add, min and max of two integers of 16 bits in a register, which integer.cc passes on.
bool decode_halves(Site& site, Type type);

/// Decodes cvt.pack, and the forms of cvt with the types of 8 bits and with tf32; false: another
/// form.
bool decode_cvt_packed(Site& site);

}  // namespace cuvmm::kernels
