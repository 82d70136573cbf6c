// SPDX-License-Identifier: Apache-2.0
// An instruction while its text is decoded, as the opcodes' decoders see it.
#pragma once

#include <string>

#include "kernels/instruction/modifiers.h"
#include "kernels/run/code.h"
#include "kernels/text/syntax.h"

namespace cuvmm::kernels {

class Names;

class Site {
 public:
  Site(Names& names, const Statement& statement)
      : modifiers(statement.name), statement(statement), names_(names) {
    out.line = statement.at.line;
  }

  /// Records that the instruction cannot be carried out, and why; the first reason counts.
  void refuse(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }
  const std::string& why() const { return why_; }

  std::size_t operands() const { return statement.operands.size(); }
  /// Whether the number of operands lies in the range; records a refusal if not.
  bool expect(std::size_t least, std::size_t most);
  bool expect(std::size_t count) { return expect(count, count); }
  const Operand& operand(std::size_t index) const { return statement.operands[index]; }

  /// The slot of an operand that is read: a register, a number, a special register or an address.
  std::uint32_t source(const Operand& operand, Type type);
  std::uint32_t source(std::size_t index, Type type) { return source(operand(index), type); }
  /// The slot of a register that is written; for `_`, a slot that no instruction reads.
  std::uint32_t target(const Operand& operand);
  std::uint32_t target(std::size_t index) { return target(operand(index)); }
  /// The slot of a predicate that is read; sets `invert` to kAll where it is negated.
  std::uint32_t predicate(const Operand& operand, Mask& invert);
  std::uint32_t predicate_target(const Operand& operand);
  /// Decodes [address] into `out.a` and `out.immediate`; `space` is the instruction's.
  void address(const Operand& operand, Space space);
  bool is_predicate(const Operand& operand);
  std::uint32_t new_register();
  /// An instruction that runs before this one, under the same guard.
  void add_before(Instruction before);
  /// Keeps a list of registers in the code, and returns its index there.
  std::size_t keep(std::vector<std::uint32_t>&& slots);
  /// Whether the module has variables in constant memory.
  bool has_constants() const;
  /// The predicate that holds the carry of add.cc and related instructions.
  std::uint32_t carry();

  Modifiers modifiers;
  const Statement& statement;
  Instruction out;

 private:
  void refuse_offset(const Operand& operand);
  std::uint32_t sum(const Operand& operand, std::uint32_t slot, Type type);

  Names& names_;
  std::string why_;
};

/// Decodes an opcode; the caller refuses the modifiers that it leaves.
using Decode = void (*)(Site&);

struct Opcode {
  std::string_view name;
  Decode decode;
};

}  // namespace cuvmm::kernels
