// SPDX-License-Identifier: Apache-2.0
// Calls: most are replaced by the function's body. Functions that call themselves, or that are
// called by their address, become subroutines.
#include <algorithm>
#include <utility>

#include "kernels/decode/kernel_decoder.h"

namespace cuvmm::kernels {

namespace {

// Limits of calls that bodies replace: depth, number.
constexpr std::size_t kDeepestCall = 64, kMostExpansions = 1 << 14;

}  // namespace

// Decodes the bodies of the functions that calls have asked for, behind the
// kernel's.
void Decoder::subroutines() {
  emit({.flow = Flow::kExit}, "ret");  // after the last instruction
  for (std::size_t i = 0; i < asked_.size() && why_.empty(); ++i) {
    const Function& function = *asked_[i];
    Subroutine made = code_->subroutines[i];
    place(made.entry);
    made.first_register = code_->registers;
    made.first_predicate = code_->predicates;
    made.frame = names_.new_register();
    names_.begin_frame(made.frame, made.frame_bytes);
    names_.enter_function();
    const auto define = [&](const std::vector<Variable>& formal, const std::vector<Slot>& slots) {
      for (std::size_t k = 0; k < formal.size(); ++k)
        names_.define(formal[k].name, {.kind = Symbol::Kind::kVariable,
                                       .type = formal[k].type,
                                       .space = Space::kLocal,
                                       .address = slots[k].offset,
                                       .framed = true});
    };
    define(function.parameters, made.parameters);
    define(function.returned, made.returned);
    subroutine_ = true;
    body(function, 0);
    emit({.flow = Flow::kReturn}, "ret");
    names_.leave();
    made.last_register = code_->registers;
    made.last_predicate = code_->predicates;
    made.frame_bytes = names_.frame_bytes();
    code_->subroutines[i] = std::move(made);
  }
}

// The index of a function's subroutine, which is decoded later.
std::uint32_t Decoder::ask_for(const Function& function) {
  const auto known = std::ranges::find(asked_, &function);
  const auto index = static_cast<std::uint32_t>(known - asked_.begin());
  if (known != asked_.end()) return index;
  asked_.push_back(&function);
  Subroutine made;
  made.name = function.name;
  made.address = module_.address_of(function.name);
  names_.declare_label(function.name);
  made.entry = *names_.label(function.name);
  names_.forget_label(function.name);
  places_.resize(names_.labels());
  made.parameters = layout(function.parameters);
  made.returned = layout(function.returned);
  constexpr std::uint64_t kAlign = 16;
  const auto end = [](const std::vector<Slot>& slots) {
    const std::uint64_t bytes = slots.empty() ? 0 : slots.back().offset + slots.back().size;
    return (bytes + kAlign - 1) / kAlign * kAlign;
  };
  const std::uint64_t behind = end(made.parameters);
  for (Slot& each : made.returned) each.offset += behind;
  made.frame_bytes = std::max(behind, end(made.returned));
  code_->subroutines.push_back(std::move(made));
  return index;
}

std::vector<Slot> Decoder::places_of(Site& site, const std::vector<Operand>& operands) {
  std::vector<Slot> out;
  for (const Operand& each : operands) {
    const Symbol symbol = names_.find(each.name);
    if (symbol.kind != Symbol::Kind::kVariable || symbol.space != Space::kLocal)
      site.refuse("an argument that is no `.param` variable");
    out.push_back({symbol.address, 0});
  }
  return out;
}

bool Decoder::in_memory(const Function& function) {
  const auto is = [](const Variable& each) { return each.space == Space::kParam; };
  return std::ranges::all_of(function.parameters, is) && std::ranges::all_of(function.returned, is);
}

void Decoder::emit_call(Site& site, Call&& call, const std::vector<Operand>& returned,
                        const std::vector<Operand>& arguments) {
  call.frame = names_.frame();
  call.given = places_of(site, arguments);
  call.returned = places_of(site, returned);
  site.out.flow = Flow::kCall;
  site.out.target = static_cast<std::uint32_t>(code_->calls.size());
  code_->calls.push_back(std::move(call));
  accept(site);
}

void Decoder::call_subroutine(Site& site, const Function& function,
                              const std::vector<Operand>& returned,
                              const std::vector<Operand>& arguments) {
  if (!in_memory(function))
    site.refuse("a function that calls itself, and whose arguments are registers");
  if (returned.size() != function.returned.size() || arguments.size() != function.parameters.size())
    site.refuse(
        "the number of its arguments is not that of the function's "
        "parameters");
  if (!site.why().empty()) return accept(site);
  Call call;
  call.subroutine = ask_for(function);
  emit_call(site, std::move(call), returned, arguments);
}

// Any function with as many parameters and results may be called by its
// address, if the module takes addresses of functions at all.
void Decoder::call_by_address(Site& site, std::string_view pointer,
                              const std::vector<Operand>& returned,
                              const std::vector<Operand>& arguments) {
  Operand address;
  address.name = pointer;
  site.out.a = site.source(address, Type::kU64);
  if (!site.why().empty()) return accept(site);
  for (const Function& each : module_.functions) {
    if (each.entry || !each.defined || !in_memory(each) || module_.function(each.name) != &each)
      continue;
    if (each.parameters.size() == arguments.size() && each.returned.size() == returned.size())
      ask_for(each);
  }
  emit_call(site, {}, returned, arguments);
}

// Decodes call (returned), function, (arguments); either list may be missing.
void Decoder::call(Site& site, std::size_t depth) {
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
  if (!function && at < operands.size()) {
    return call_by_address(site, name, returned, arguments);
  } else if (!function) {
    site.refuse("what is called is no function of the module");
  } else if (name == "vprintf" || name == "__assertfail") {
    special(site, name == "vprintf", returned, arguments);
    return accept(site);
  } else if (!function->defined && (name == "malloc" || name == "free")) {
    heap(site, name == "malloc", returned, arguments);
    return accept(site);
  } else if (!function->defined) {
    const bool launches = name.starts_with("__cuda_syscall_cnp") || name.starts_with("__cudaCDP") ||
                          name.starts_with("cudaLaunchDevice");
    site.refuse("`" + std::string(name) + "` has no body here" +
                (launches ? ", because kernels cannot launch kernels (dynamic parallelism)" : ""));
  } else if (std::find(active_.begin(), active_.end(), function) != active_.end()) {
    return call_subroutine(site, *function, returned, arguments);
  } else if (depth == kDeepestCall || ++expansions_ > kMostExpansions) {
    site.refuse("too many calls in calls");
  } else if (returned.size() != function->returned.size() ||
             arguments.size() != function->parameters.size()) {
    site.refuse(
        "the number of its arguments is not that of the function's "
        "parameters");
  }
  if (!site.why().empty()) return accept(site);
  expand(site, *function, returned, arguments, depth);
}

std::uint64_t Decoder::local_address(Site& site, const Operand& operand) {
  const Symbol symbol = names_.find(operand.name);
  if (symbol.kind != Symbol::Kind::kVariable || symbol.space != Space::kLocal) {
    site.refuse("an argument that is no `.param` variable");
  }
  return symbol.address;
}

// Writes the addresses of the arguments into the instruction.
void Decoder::special(Site& site, bool print, const std::vector<Operand>& returned,
                      const std::vector<Operand>& arguments) {
  site.out.e = names_.frame();
  const std::size_t needed = print ? 2 : 4;
  if (arguments.size() < needed) return site.refuse("arguments are missing");
  for (std::size_t i = 0; i < needed; ++i) {
    site.out.v[i] = static_cast<std::uint32_t>(local_address(site, arguments[i]));
  }
  site.out.option = returned.empty() ? 0 : 1;
  if (!returned.empty()) site.out.immediate = local_address(site, returned.front());
  site.out.run = print ? run_print : run_assert_failed;
}

void Decoder::heap(Site& site, bool allocates, const std::vector<Operand>& returned,
                   const std::vector<Operand>& arguments) {
  if (arguments.size() != 1 || returned.size() != (allocates ? 1U : 0U))
    return site.refuse("arguments are missing");
  site.out.e = names_.frame();
  site.out.v[0] = static_cast<std::uint32_t>(local_address(site, arguments[0]));
  if (allocates) site.out.immediate = local_address(site, returned[0]);
  site.out.run = allocates ? run_malloc : run_free;
}

// Replaces the call by the function's body; the function's parameters become variables of the
// caller.
void Decoder::expand(Site& site, const Function& function, const std::vector<Operand>& returned,
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

}  // namespace cuvmm::kernels
