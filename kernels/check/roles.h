// SPDX-License-Identifier: Apache-2.0
// The types of an instruction's operands.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/text/type.h"

namespace cuvmm::kernels {

/// The role of an operand.
struct Role {
  enum class Kind : std::uint8_t {
    kAny,      ///< nothing is known of it
    kValue,    ///< a value of `type`
    kBits,     ///< of the width of `type`
    kAtLeast,  ///< at least as wide as `type`
    kPredicate,
  };
  Kind kind = Kind::kAny;
  Type type = Type::kNone;
};

/// The roles of the operands of an opcode with its modifiers, in their order. Operands after the
/// last role are kAny; so are all operands of an opcode that is not known.
std::vector<Role> roles_of(std::string_view opcode);

/// Whether a register of a type can have the role.
bool fits(const Role& role, Type declared);

}  // namespace cuvmm::kernels
