// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode/decoder.h"

#include <algorithm>
#include <utility>

#include "kernels/instruction/site.h"
#include "kernels/ops/opcodes.h"
#include "kernels/ops/print.h"

namespace cuvmm::kernels {

namespace {

constexpr std::size_t kMostInstructions = 1 << 20;
// The limits of GPUs, in bytes.
constexpr std::uint64_t kMostShared = 228 << 10, kMostLocal = 512 << 10;
constexpr std::size_t kMostSlots = 1 << 16;
// Limits of inlined calls: depth, number.
constexpr std::size_t kDeepest = 64, kMostExpansions = 1 << 14;

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
    body(kernel, 0);
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

  // The `target` of a branch is a label until all instructions are decoded.
  void finish() {
    emit({.flow = Flow::kExit}, "ret");  // after the last instruction
    names_.finish();
    const auto resolve = [&](std::uint32_t& label) { label = places_[label]; };
    for (Instruction& i : code_->instructions) {
      if (i.flow == Flow::kBranch) resolve(i.target);
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
      site.out.flow = ends ? Flow::kExit : Flow::kBranch;
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

  // Decodes call (returned), function, (arguments); either list may be missing.
  void call(Site& site, std::size_t depth) {
    site.modifiers.take("uni");
    const auto& operands = site.statement.operands;
    static const std::vector<Operand> kNone;
    std::size_t at = 0;
    const auto list = [&]() -> const std::vector<Operand>& {
      const bool here = at < operands.size() && operands[at].kind == Operand::Kind::kVector;
      return here ? operands[at++].parts : kNone;
    };
    const std::vector<Operand>& returned = list();
    const std::string_view name = at < operands.size() ? operands[at++].name : "";
    const std::vector<Operand>& arguments = list();
    const Function* function = module_.function(name);
    if (!function) {
      site.refuse("what is called is no function of the module");
    } else if (name == "vprintf" || name == "__assertfail") {
      special(site, name == "vprintf", returned, arguments);
      return accept(site);
    } else if (!function->defined && (name == "malloc" || name == "free")) {
      heap(site, name == "malloc", returned, arguments);
      return accept(site);
    } else if (!function->defined) {
      site.refuse("`" + std::string(name) + "` has no body here");
    } else if (std::find(active_.begin(), active_.end(), function) != active_.end()) {
      site.refuse("recursion is not supported");
    } else if (depth == kDeepest || ++expansions_ > kMostExpansions) {
      site.refuse("too many calls in calls");
    } else if (returned.size() != function->returned.size() ||
               arguments.size() != function->parameters.size()) {
      site.refuse("the number of its arguments is not that of the function's parameters");
    }
    if (!site.why().empty()) return accept(site);
    expand(site, *function, returned, arguments, depth);
  }

  std::uint64_t local_address(Site& site, const Operand& operand) {
    const Symbol symbol = names_.find(operand.name);
    if (symbol.kind != Symbol::Kind::kVariable || symbol.space != Space::kLocal) {
      site.refuse("an argument that is no `.param` variable");
    }
    return symbol.address;
  }

  // Writes the addresses of the arguments into the instruction.
  void special(Site& site, bool print, const std::vector<Operand>& returned,
               const std::vector<Operand>& arguments) {
    const std::size_t needed = print ? 2 : 4;
    if (arguments.size() < needed) return site.refuse("arguments are missing");
    for (std::size_t i = 0; i < needed; ++i) {
      site.out.v[i] = static_cast<std::uint32_t>(local_address(site, arguments[i]));
    }
    site.out.option = returned.empty() ? 0 : 1;
    if (!returned.empty()) site.out.immediate = local_address(site, returned.front());
    site.out.run = print ? run_print : run_assert_failed;
  }

  void heap(Site& site, bool allocates, const std::vector<Operand>& returned,
            const std::vector<Operand>& arguments) {
    if (arguments.size() != 1 || returned.size() != (allocates ? 1U : 0U))
      return site.refuse("arguments are missing");
    site.out.v[0] = static_cast<std::uint32_t>(local_address(site, arguments[0]));
    if (allocates) site.out.immediate = local_address(site, returned[0]);
    site.out.run = allocates ? run_malloc : run_free;
  }

  // Replaces the call by the function's body; the function's parameters become variables of the
  // caller.
  void expand(Site& site, const Function& function, const std::vector<Operand>& returned,
              const std::vector<Operand>& arguments, std::size_t depth) {
    std::vector<std::pair<std::string_view, Symbol>> bound;
    const auto bind = [&](const std::vector<Variable>& formal, const std::vector<Operand>& actual) {
      for (std::size_t i = 0; i < formal.size(); ++i) {
        const Symbol symbol = names_.find(actual[i].name);
        const bool in_memory = symbol.kind == Symbol::Kind::kVariable;
        if (in_memory != (formal[i].space == Space::kParam) || symbol.kind == Symbol::Kind::kNone ||
            actual[i].kind != Operand::Kind::kName) {
          site.refuse("an argument of another kind than the parameter");
        }
        bound.emplace_back(formal[i].name, symbol);
      }
    };
    bind(function.returned, returned);
    bind(function.parameters, arguments);
    if (!site.why().empty()) return accept(site);
    if (site.out.guard != 0) {  // lanes whose guard is false branch around the body
      names_.declare_label("@");
      Instruction around = site.out;
      around.flow = Flow::kBranch;
      around.invert = ~around.invert;
      around.target = *names_.label("@");
      emit(around, site.statement.name);
    }
    names_.enter_function();
    for (const auto& [name, symbol] : bound) names_.define(name, symbol);
    body(function, depth + 1);
    names_.leave();
    if (site.out.guard != 0) {
      place(*names_.label("@"));
      names_.forget_label("@");
    }
  }

  const Module& module_;
  std::shared_ptr<Code> code_;
  Names names_;
  std::vector<const Function*> active_;
  std::vector<std::uint32_t> places_;  ///< positions of labels, by label number
  std::map<std::string_view, const Statement*> tables_;
  std::size_t expansions_ = 0;
  std::string why_;
};

}  // namespace

std::vector<Slot> layout(const std::vector<Variable>& parameters) {
  std::vector<Slot> out;
  std::uint64_t at = 0;
  for (const Variable& each : parameters) {
    at = (at + each.align - 1) / each.align * each.align;
    out.push_back({at, each.size});
    at += each.size;
  }
  return out;
}

Decoded decode(const Module& module, const Function& kernel, const Addresses& addresses) {
  return Decoder(module, addresses).run(kernel);
}

}  // namespace cuvmm::kernels
