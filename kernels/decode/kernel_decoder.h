// SPDX-License-Identifier: Apache-2.0
// Decodes one kernel, with the functions that it calls.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/decode/layout.h"
#include "kernels/instruction/names.h"
#include "kernels/instruction/site.h"
#include "kernels/ops/opcodes.h"
#include "kernels/ops/print.h"
#include "kernels/run/clock.h"

namespace cuvmm::kernels {

inline constexpr std::size_t kMostInstructions = 1 << 20;
// The limits of GPUs, in bytes.
inline constexpr std::uint64_t kMostShared = 228 << 10, kMostLocal = 512 << 10;
inline constexpr std::size_t kMostSlots = 1 << 16;

class Decoder {
 public:
  Decoder(const Module& module, const Addresses& addresses)
      : module_(module), code_(std::make_shared<Code>()), names_(module, *code_, addresses) {}

  Decoded run(const Function& kernel) {
    code_->name = kernel.name;
    std::copy_n(kernel.most_threads, 3, code_->most_threads);
    std::copy_n(kernel.exact_threads, 3, code_->exact_threads);
    names_.enter_function();
    const std::vector<Slot> slots = layout(kernel.parameters);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      names_.define(kernel.parameters[i].name, {.kind = Symbol::Kind::kVariable,
                                                .type = kernel.parameters[i].type,
                                                .space = Space::kParam,
                                                .address = slots[i].offset});
      code_->parameter_bytes = slots[i].offset + slots[i].size;
    }
    code_->parameters = slots;
    std::copy_n(kernel.cluster, 3, code_->cluster);
    body(kernel, 0);
    subroutines();
    finish();
    if (!why_.empty()) return {nullptr, why_};
    return {code_, ""};
  }

 private:
  void refuse(const Place& at, std::string_view what, std::string_view why) {
    if (!why_.empty()) return;
    why_ = "line " + std::to_string(at.line) + ": `" + std::string(what) + "`: " + std::string(why);
  }

  void emit(const Instruction& instruction, std::string_view opcode) {
    for (const Instruction& before : names_.before()) {
      code_->instructions.push_back(before);
      code_->opcodes.emplace_back("mov");
    }
    names_.before().clear();
    code_->instructions.push_back(instruction);
    code_->opcodes.emplace_back(opcode);
  }

  void subroutines();

  std::uint32_t ask_for(const Function& function);

  // The `target` of a branch is a label until all instructions are decoded.
  void finish() {
    names_.finish();
    const auto resolve = [&](std::uint32_t& label) { label = places_[label]; };
    for (Instruction& i : code_->instructions) {
      if (i.flow == Flow::kBranch) resolve(i.target);
    }
    for (Subroutine& each : code_->subroutines) resolve(each.entry);
    std::uint32_t straight = 0;
    for (auto i = code_->instructions.rbegin(); i != code_->instructions.rend(); ++i) {
      // The instructions behind a read of the clock are counted after it.
      if (reads_clock(i->run)) straight = 0;
      i->straight = straight = i->flow == Flow::kNone ? straight + 1 : 0;
    }
    for (auto& table : code_->tables) std::for_each(table.begin(), table.end(), resolve);
    if (code_->shared_bytes > kMostShared || code_->local_bytes > kMostLocal ||
        code_->registers > kMostSlots || code_->predicates > kMostSlots) {
      refuse({}, code_->name, "it takes more memory or registers than a GPU has");
    }
  }

  void place(std::uint32_t label) {
    if (places_.size() <= label) places_.resize(label + std::size_t{1});
    places_[label] = static_cast<std::uint32_t>(code_->instructions.size());
  }

  // Enters a scope with all of its labels, because a branch may come before its label.
  void enter_scope(const Function& function, std::size_t from) {
    int depth = 0;
    for (std::size_t i = from; i < function.statements.size() && depth >= 0; ++i) {
      const Statement& s = function.statements[i];
      if (s.kind == Statement::Kind::kOpen) ++depth;
      if (s.kind == Statement::Kind::kClose) --depth;
      if (s.kind == Statement::Kind::kLabel && depth == 0) names_.declare_label(s.name);
    }
    places_.resize(names_.labels());
  }

  void body(const Function& function, std::size_t depth) {
    active_.push_back(&function);
    enter_scope(function, 0);
    names_.declare_label("");  // the label of the function's end
    const std::uint32_t end = *names_.label("");
    places_.resize(names_.labels());
    for (std::size_t i = 0; i < function.statements.size() && why_.empty(); ++i) {
      const Statement& s = function.statements[i];
      switch (s.kind) {
        case Statement::Kind::kOpen:
          names_.enter();
          enter_scope(function, i + 1);
          break;
        case Statement::Kind::kClose:
          names_.leave();
          break;
        case Statement::Kind::kLabel:
          place(*names_.label(s.name));
          break;
        case Statement::Kind::kVariable:
          declare(function.variables[s.variable]);
          break;
        case Statement::Kind::kTargets:
          tables_[s.name] = &s;
          break;
        case Statement::Kind::kInstruction:
          instruction(s, depth, end);
      }
      if (code_->instructions.size() > kMostInstructions) {
        refuse(s.at, s.name, "the kernel has too many instructions");
      }
    }
    place(end);
    active_.pop_back();
  }

  void declare(const Variable& variable) {
    if (!names_.declare(variable)) {
      refuse(variable.at, variable.name, "a variable of a kind that functions do not have here");
    }
  }

  // Writes a vector as its parts: `v` as {v.x, v.y}.
  void spell_out(Operand& operand) {
    if (operand.kind != Operand::Kind::kName) return;
    const std::vector<std::string_view> parts = names_.parts(operand.name);
    if (parts.empty() || operand.negated || operand.value != 0) return;
    operand.kind = Operand::Kind::kVector;
    for (const std::string_view part : parts) {
      Operand made;
      made.name = part;
      made.at = operand.at;
      operand.parts.push_back(std::move(made));
    }
  }

  void instruction(const Statement& s, std::size_t depth, std::uint32_t end) {
    if (!names_.has_vectors()) return plain_instruction(s, depth, end);
    Statement spelled = s;
    for (Operand& each : spelled.operands) spell_out(each);
    plain_instruction(spelled, depth, end);
  }

  void plain_instruction(const Statement& s, std::size_t depth, std::uint32_t end) {
    Site site(names_, s);
    if (!s.guard.empty()) {
      Operand guard;
      guard.name = s.guard;
      guard.negated = s.guard_negated;
      site.out.guard = site.predicate(guard, site.out.invert);
    }
    const std::string_view base = site.modifiers.base();
    if (base == "bra" || base == "brx") {
      branch(site, base == "brx");
    } else if (base == "call") {
      return call(site, depth);
    } else if (base == "ret" || base == "exit") {
      site.modifiers.take("uni");
      const bool ends = depth == 0 || base == "exit";
      site.out.flow = !ends                           ? Flow::kBranch
                      : subroutine_ && base != "exit" ? Flow::kReturn
                                                      : Flow::kExit;
      site.out.target = end;
    } else if (const Decode known = opcode_named(base)) {
      known(site);
    } else {
      site.refuse("this instruction is not known");
    }
    accept(site);
  }

  void accept(Site& site) {
    const std::string_view unknown = site.modifiers.unknown();
    if (!unknown.empty()) site.refuse("`." + std::string(unknown) + "` is not known here");
    const Statement& s = site.statement;
    if (!site.why().empty()) return refuse(s.at, s.name, site.why());
    emit(site.out, s.name);
  }

  std::uint32_t target(Site& site, const Operand& operand) {
    const auto label = operand.kind == Operand::Kind::kName && !operand.name.empty()
                           ? names_.label(operand.name)
                           : std::nullopt;
    if (!label) site.refuse("`" + std::string(operand.name) + "` is no label");
    return label.value_or(0);
  }

  void branch(Site& site, bool indexed) {
    site.modifiers.take("uni");
    if (!indexed) {
      site.out.flow = Flow::kBranch;
      if (site.expect(1)) site.out.target = target(site, site.operand(0));
      return;
    }
    site.modifiers.take("idx");
    if (!site.expect(2)) return;
    site.out.flow = Flow::kTable;
    site.out.a = site.source(0, Type::kU32);
    site.out.target = static_cast<std::uint32_t>(code_->tables.size());
    const auto list = tables_.find(site.operand(1).name);
    if (list == tables_.end()) return site.refuse("its targets are not known");
    std::vector<std::uint32_t> table;
    for (const Operand& each : list->second->operands) table.push_back(target(site, each));
    code_->tables.push_back(std::move(table));
  }

  void call(Site& site, std::size_t depth);

  std::vector<Slot> places_of(Site& site, const std::vector<Operand>& operands);

  static bool in_memory(const Function& function);

  void emit_call(Site& site, Call&& call, const std::vector<Operand>& returned,
                 const std::vector<Operand>& arguments);

  void call_subroutine(Site& site, const Function& function, const std::vector<Operand>& returned,
                       const std::vector<Operand>& arguments);

  void call_by_address(Site& site, std::string_view pointer, const std::vector<Operand>& returned,
                       const std::vector<Operand>& arguments);

  std::uint64_t local_address(Site& site, const Operand& operand);

  void special(Site& site, bool print, const std::vector<Operand>& returned,
               const std::vector<Operand>& arguments);

  void heap(Site& site, bool allocates, const std::vector<Operand>& returned,
            const std::vector<Operand>& arguments);

  void expand(Site& site, const Function& function, const std::vector<Operand>& returned,
              const std::vector<Operand>& arguments, std::size_t depth);

  const Module& module_;
  std::shared_ptr<Code> code_;
  Names names_;
  std::vector<const Function*> active_;
  std::vector<std::uint32_t> places_;  ///< positions of labels, by label number
  std::map<std::string_view, const Statement*> tables_;
  std::size_t expansions_ = 0;
  std::vector<const Function*> asked_;  ///< the functions of Code::subroutines
  bool subroutine_ = false;             ///< the body of a subroutine is being decoded
  std::string why_;
};

}  // namespace cuvmm::kernels
