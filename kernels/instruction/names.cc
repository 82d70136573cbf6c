// SPDX-License-Identifier: Apache-2.0
#include "kernels/instruction/names.h"

#include <algorithm>
#include <charconv>

namespace cuvmm::kernels {

namespace {

std::uint64_t rounded(std::uint64_t value, std::uint64_t align) {
  return (value + align - 1) / align * align;
}

bool is_register(Space space) { return space == Space::kRegister || space == Space::kNone; }

}  // namespace

std::uint64_t Names::place_shared(const Variable& variable) {
  const auto known = placed_.find(&variable);
  if (known != placed_.end()) return known->second;
  const std::uint64_t at = rounded(code_.shared_bytes, variable.align);
  code_.shared_bytes = at + variable.size;
  return placed_[&variable] = at;
}

// All inlined copies of a function share the variable's address, because no thread is in two of
// them.
std::uint64_t Names::place_local(const Variable& variable) {
  auto& placed = frame_ ? framed_ : placed_;
  std::uint64_t& bytes = frame_ ? frame_bytes_ : code_.local_bytes;
  const auto known = placed.find(&variable);
  if (known != placed.end()) return known->second;
  const std::uint64_t at = rounded(bytes, variable.align);
  bytes = rounded(at + variable.size, 16);
  return placed[&variable] = at;
}

bool Names::declare(const Variable& variable) {
  Symbol symbol{.type = variable.type,
                .range = variable.range,
                .lanes = variable.lanes,
                .space = variable.space};
  if (is_register(variable.space)) {
    if (variable.lanes > 1 && variable.type == Type::kPred) return false;
    has_vectors_ |= variable.lanes > 1;
    if (variable.lanes > 1 && variable.range == 0) {
      symbol.kind = Symbol::Kind::kVector;
      symbol.slot = new_register();
      for (unsigned lane = 1; lane < variable.lanes; ++lane) new_register();
    } else if (variable.range != 0) {
      symbol.kind = Symbol::Kind::kRange;
    } else if (variable.type == Type::kPred) {
      symbol.kind = Symbol::Kind::kPredicate;
      symbol.slot = new_predicate();
    } else {
      symbol.kind = Symbol::Kind::kRegister;
      symbol.slot = new_register();
    }
  } else if (variable.space == Space::kShared) {
    symbol.kind = Symbol::Kind::kVariable;
    symbol.address = place_shared(variable);
  } else if (variable.space == Space::kLocal || variable.space == Space::kParam) {
    symbol.kind = Symbol::Kind::kVariable;
    symbol.space = Space::kLocal;  // arguments of calls also lie in local memory
    symbol.address = place_local(variable);
    symbol.framed = frame_ != 0;
  } else {
    return false;
  }
  define(variable.name, symbol);
  return true;
}

Symbol Names::in_range(Scope& scope, std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  // %r12 may be register 12 of %r<>, or register 2 of %r1<>.
  for (std::size_t split = digits; split < name.size(); ++split) {
    const auto found = scope.symbols.find(name.substr(0, split));
    if (found == scope.symbols.end() || found->second.kind != Symbol::Kind::kRange) continue;
    unsigned number = 0;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + split, end, number);
    if (read.ec != std::errc{} || number >= found->second.range) continue;
    Symbol symbol = found->second;
    const bool predicate = symbol.type == Type::kPred;
    symbol.kind = predicate          ? Symbol::Kind::kPredicate
                  : symbol.lanes > 1 ? Symbol::Kind::kVector
                                     : Symbol::Kind::kRegister;
    symbol.slot = predicate ? new_predicate() : new_register();
    for (unsigned lane = 1; lane < symbol.lanes; ++lane) new_register();
    return scope.symbols[name] = symbol;
  }
  return {};
}

Symbol Names::find(std::string_view name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->symbols.find(name);
    if (found != scope->symbols.end() && found->second.kind != Symbol::Kind::kRange) {
      return found->second;
    }
    const Symbol symbol = in_range(*scope, name);
    if (symbol.kind != Symbol::Kind::kNone) return symbol;
    if (scope->closed) break;
  }
  if (const Symbol part = part_of_vector(name); part.kind != Symbol::Kind::kNone) return part;
  return of_module(name);
}

namespace {

constexpr std::string_view kVectorParts = "xyzw", kColourParts = "rgba";

}  // namespace

Symbol Names::part_of_vector(std::string_view name) {
  if (name.size() < 3 || name[name.size() - 2] != '.') return {};
  const std::size_t part = std::min(kVectorParts.find(name.back()), kColourParts.find(name.back()));
  Symbol symbol = part < kVectorParts.size() ? find(name.substr(0, name.size() - 2)) : Symbol{};
  if (symbol.kind != Symbol::Kind::kVector || part >= symbol.lanes) return {};
  symbol.kind = Symbol::Kind::kRegister;
  symbol.slot += static_cast<std::uint32_t>(part);
  return symbol;
}

std::vector<std::string_view> Names::parts(std::string_view name) {
  const Symbol symbol = name.empty() ? Symbol{} : find(name);
  std::vector<std::string_view> out;
  if (symbol.kind != Symbol::Kind::kVector) return out;
  for (unsigned lane = 0; lane < symbol.lanes; ++lane) {
    out.push_back(part_names_.emplace_back(std::string(name) + "." + kVectorParts[lane]));
  }
  return out;
}

Symbol Names::of_module(std::string_view name) {
  const Variable* variable = module_.variable(name);
  if (!variable) return {};
  Symbol symbol{.kind = Symbol::Kind::kVariable, .type = variable->type, .space = variable->space};
  if (variable->space == Space::kShared) {
    if (variable->is_extern || variable->size == 0) {
      dynamic_align_ = std::max<std::uint64_t>(dynamic_align_, variable->align);
      symbol.kind = Symbol::Kind::kDynamicShared;
    } else {
      symbol.address = place_shared(*variable);
    }
    return symbol;
  }
  const auto address = addresses_(name);
  if (!address) return {};
  symbol.address = *address;
  return symbol;
}

std::optional<std::uint32_t> Names::label(std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->labels.find(name);
    if (found != scope->labels.end()) return found->second;
    if (scope->closed) break;
  }
  return std::nullopt;
}

std::uint32_t Names::constant(std::uint64_t value) {
  if (value == 0) return 0;
  const auto [at, added] = constants_.try_emplace(value, code_.registers);
  if (added) code_.constants.push_back({new_register(), value});
  return at->second;
}

std::uint32_t Names::special(Special which) {
  const auto [at, added] = specials_.try_emplace(which, code_.registers);
  if (added) code_.specials.push_back({new_register(), which});
  return at->second;
}

std::uint32_t Names::dynamic_shared(std::uint64_t addend) {
  const std::uint32_t slot = new_register();
  dynamic_.push_back(code_.constants.size());
  code_.constants.push_back({slot, addend});
  return slot;
}

void Names::finish() {
  if (!dynamic_.empty()) code_.shared_bytes = rounded(code_.shared_bytes, dynamic_align_);
  for (const std::size_t index : dynamic_) code_.constants[index].value += code_.shared_bytes;
}

}  // namespace cuvmm::kernels
