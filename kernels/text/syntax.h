// SPDX-License-Identifier: Apache-2.0
// A module of PTX as it is written; the decoder (decode/decoder.h) gives instructions their
// meaning.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/text/lexer.h"
#include "kernels/text/type.h"

namespace cuvmm::kernels {

struct Operand {
  enum class Kind : std::uint8_t {
    kName,     ///< a register, variable, label or function
    kInteger,  ///< `value`
    kSingle,   ///< bits in `value`
    kDouble,   ///< bits in `value`
    kAddress,  ///< [name + value]; either may be missing
    kVector,   ///< {a, b}, of `parts`; also (a, b) of a call
    kPair,     ///< a|b, of `parts`
  };
  Kind kind = Kind::kName;
  bool negated = false;  ///< !p
  std::string_view name;
  std::uint64_t value = 0;
  std::vector<Operand> parts;
  Place at;
};

/// An address in the initial bytes of a variable, at an offset in bytes.
struct Reference {
  std::size_t offset = 0;
  std::string name;
  std::uint64_t addend = 0;
};

struct Variable {
  Space space = Space::kNone;
  Type type = Type::kNone;
  std::string_view name;
  unsigned range = 0;      ///< %r<6>: `name`0 to `name`5
  unsigned lanes = 1;      ///< of a vector, .v4
  unsigned align = 0;      ///< as declared, else the element's; a power of two
  std::uint64_t size = 0;  ///< bytes; 0: no size is given, as for dynamic shared memory
  bool is_extern = false;
  bool may_repeat = false;  ///< .weak or .common
  bool is_local = false;    ///< of a module, and not for other texts that it is linked with
  bool is_managed = false;  ///< the host may access it as well
  bool is_opaque = false;   ///< .texref, .samplerref or .surfref
  std::string contents;     ///< the initial bytes; zeros follow
  std::vector<Reference> references;
  Place at;
};

struct Statement {
  enum class Kind : std::uint8_t { kInstruction, kLabel, kOpen, kClose, kVariable, kTargets };
  Kind kind = Kind::kInstruction;
  bool guard_negated = false;
  std::string_view name;   ///< the opcode with its modifiers; a label; a list of targets
  std::string_view guard;  ///< the predicate of @p; empty: unconditional
  std::vector<Operand> operands;
  std::size_t variable = 0;  ///< index in Function::variables
  Place at;
};

struct Function {
  std::string_view name;
  bool entry = false;
  bool defined = false;
  bool is_extern = false;
  bool may_repeat = false;  ///< .weak
  bool is_local = false;    ///< not for other texts that it is linked with
  std::vector<Variable> returned, parameters;
  std::vector<Variable> variables;
  std::vector<Statement> statements;  ///< of the body, without its outer braces
  unsigned most_threads[3] = {};      ///< .maxntid; 0: not given
  unsigned exact_threads[3] = {};     ///< .reqntid
  unsigned cluster[3] = {};           ///< .reqnctapercluster: blocks; 0: not given
  Place at;
};

/// No memory lies at the addresses of functions.
inline constexpr std::uint64_t kCodeWindow = std::uint64_t{0x7000} << 48;

struct Module {
  std::string text;                ///< the text that all names point into
  unsigned version = 0;            ///< 803 for PTX 8.3; 0: none is given
  std::string_view target;         ///< "sm_90"; of several, the first that is no option
  unsigned address_bits = 0;       ///< 0: not given
  std::deque<std::string> joined;  ///< opcodes that are written with blanks, without them
  std::vector<Function> functions;
  std::vector<Variable> variables;
  /// The indices that function() and variable() look up.
  std::unordered_map<std::string_view, std::size_t> function_at, variable_at;

  /// The function with a body, if any declaration of that name has one; null: no function has the
  /// name.
  const Function* function(std::string_view name) const;
  const Variable* variable(std::string_view name) const;
  /// The value of a pointer to a function with a body; 0: there is none of the name.
  std::uint64_t address_of(std::string_view name) const;
};

}  // namespace cuvmm::kernels
