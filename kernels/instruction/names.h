// SPDX-License-Identifier: Apache-2.0
// The meaning of the names in a function: registers, variables and labels, scope by scope.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/run/code.h"
#include "kernels/text/syntax.h"

namespace cuvmm::kernels {

struct Symbol {
  enum class Kind : std::uint8_t {
    kNone,
    kRegister,
    kPredicate,
    kRange,
    kVector,  ///< registers from `slot` on, `lanes` of them
    kVariable,
    kDynamicShared
  };
  Kind kind = Kind::kNone;
  Type type = Type::kNone;
  std::uint32_t slot = 0;
  unsigned range = 0, lanes = 1;
  Space space = Space::kNone;
  std::uint64_t address = 0;  ///< in the space of the symbol
  bool framed = false;        ///< the address counts from the frame's
};

class Names {
 public:
  Names(const Module& module, Code& code, const Addresses& addresses)
      : module_(module), code_(code), addresses_(addresses) {
    code_.registers = 1;  // slot 0: always 0
  }

  // --- Scopes
  /// Enters a function's scope, from which the enclosing scopes are not visible.
  void enter_function() { scopes_.push_back({.closed = true}); }
  void enter() { scopes_.emplace_back(); }
  void leave() { scopes_.pop_back(); }
  void define(std::string_view name, const Symbol& symbol) {
    scopes_.back().symbols[name] = symbol;
  }
  /// Declares a variable; false: a function cannot have variables in its space.
  bool declare(const Variable& variable);
  /// The meaning of a name; a new name within a range of registers gets its slot.
  Symbol find(std::string_view name);
  /// Gives a label of the current scope, which may come later in the text, a number.
  void declare_label(std::string_view name) { scopes_.back().labels.emplace(name, labels_++); }
  void forget_label(std::string_view name) { scopes_.back().labels.erase(name); }
  std::optional<std::uint32_t> label(std::string_view name) const;
  std::uint32_t labels() const { return labels_; }

  /// The names of the parts of a vector, `v.x` and so on; empty: the name is that of no vector.
  std::vector<std::string_view> parts(std::string_view name);
  /// Whether any vector is declared.
  bool has_vectors() const { return has_vectors_; }

  // --- Slots
  std::uint32_t new_register() { return code_.registers++; }
  std::uint32_t new_predicate() { return code_.predicates++; }
  std::uint32_t carry() {
    if (carry_ == 0) carry_ = new_predicate();
    return carry_;
  }
  std::uint32_t constant(std::uint64_t value);
  std::uint32_t special(Special which);
  /// A constant: the beginning of the dynamic shared memory, plus `addend`.
  std::uint32_t dynamic_shared(std::uint64_t addend);
  /// Called after the last instruction: places the dynamic shared memory after the static one.
  void finish();

  /// Instructions that must run before the present one because a source needs them, such as a read
  /// of a clock.
  std::vector<Instruction>& before() { return before_; }
  Code& code() { return code_; }
  const Module& module() const { return module_; }
  /// From now on variables in local memory lie in a frame, behind `bytes` bytes.
  void begin_frame(std::uint32_t frame, std::uint64_t bytes) {
    frame_ = frame;
    frame_bytes_ = bytes;
    framed_.clear();
  }
  /// The register with the frame's address; 0 outside of subroutines.
  std::uint32_t frame() const { return frame_; }
  std::uint64_t frame_bytes() const { return frame_bytes_; }
  /// The variable's address in local memory.
  std::uint64_t place_local(const Variable& variable);

 private:
  struct Scope {
    std::map<std::string_view, Symbol> symbols{};
    std::map<std::string_view, std::uint32_t> labels{};
    bool closed = false;
  };
  Symbol of_module(std::string_view name);
  Symbol in_range(Scope& scope, std::string_view name);
  Symbol part_of_vector(std::string_view name);
  std::uint64_t place_shared(const Variable& variable);

  const Module& module_;
  Code& code_;
  const Addresses& addresses_;
  std::vector<Scope> scopes_;
  std::map<std::uint64_t, std::uint32_t> constants_;
  std::map<Special, std::uint32_t> specials_;
  std::map<const Variable*, std::uint64_t> placed_, framed_;
  std::uint32_t frame_ = 0;
  std::uint64_t frame_bytes_ = 0;
  std::vector<std::size_t> dynamic_;  ///< constants relative to the dynamic shared memory
  std::uint64_t dynamic_align_ = 16;
  std::vector<Instruction> before_;
  std::deque<std::string> part_names_;
  bool has_vectors_ = false;
  std::uint32_t labels_ = 0;
  std::uint32_t carry_ = 0;
};

}  // namespace cuvmm::kernels
