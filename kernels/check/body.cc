// SPDX-License-Identifier: Apache-2.0
#include "kernels/check/body.h"

#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "kernels/check/roles.h"

namespace cuvmm::kernels {

namespace {

// Registers that no text declares, without what follows a point or a number.
constexpr std::string_view kSpecials[] = {"%tid",
                                          "%ntid",
                                          "%laneid",
                                          "%warpid",
                                          "%nwarpid",
                                          "%ctaid",
                                          "%nctaid",
                                          "%smid",
                                          "%nsmid",
                                          "%gridid",
                                          "%clusterid",
                                          "%nclusterid",
                                          "%is_explicit_cluster",
                                          "%cluster_",
                                          "%lanemask_",
                                          "%clock",
                                          "%pm",
                                          "%envreg",
                                          "%globaltimer",
                                          "%reserved_smem_offset_",
                                          "%total_smem_size",
                                          "%aggr_smem_size",
                                          "%dynamic_smem_size",
                                          "%current_graph_exec"};

bool is_special(std::string_view name) {
  if (name == "_" || name == "WARP_SZ") return true;
  for (const std::string_view each : kSpecials) {
    if (name.starts_with(each)) return true;
  }
  return false;
}

// Functions that a driver provides.
bool is_provided(std::string_view name) {
  return name == "vprintf" || name == "malloc" || name == "free" || name.starts_with("__") ||
         name.starts_with("cuda");
}

struct Declared {
  Type type = Type::kNone;  ///< of a register; kNone: a variable, or declarations that differ
};

class BodyCheck {
 public:
  BodyCheck(const Module& module, const Function& function, const Target& target, bool links)
      : module_(module), function_(function), target_(target), links_(links) {}

  Error run() {
    declare_all();
    for (const Statement& each : function_.statements) {
      if (error_) break;
      if (each.kind == Statement::Kind::kInstruction) instruction(each);
    }
    return error_;
  }

 private:
  void refuse(std::string message, const Place& at) {
    if (!error_) error_ = {std::move(message), at};
  }
  static std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

  // Collects the names of all scopes: where a name is used before its declaration, or in another
  // scope, nothing is refused.
  void declare_all() {
    std::vector<std::set<std::string_view>> scopes(1), labels(1);
    for (const auto* list : {&function_.returned, &function_.parameters}) {
      for (const Variable& each : *list) declare(each, scopes.back());
    }
    for (const Statement& each : function_.statements) {
      switch (each.kind) {
        case Statement::Kind::kOpen:
          scopes.emplace_back();
          labels.emplace_back();
          break;
        case Statement::Kind::kClose:
          scopes.pop_back();
          labels.pop_back();
          break;
        case Statement::Kind::kVariable:
          declare(function_.variables[each.variable], scopes.back());
          break;
        case Statement::Kind::kLabel:
        case Statement::Kind::kTargets:
          labels_.insert(each.name);
          if (!labels.back().insert(each.name).second) {
            refuse("the label " + quoted(each.name) + " is defined twice", each.at);
          }
          break;
        default:
          break;
      }
    }
  }

  void declare(const Variable& variable, std::set<std::string_view>& scope) {
    const bool is_register = variable.space == Space::kRegister || variable.space == Space::kNone;
    // A vector has parts of its type, and is as wide as all of them.
    const Declared made{is_register && variable.lanes == 1 ? variable.type : Type::kNone};
    if (!scope.insert(variable.name).second) {
      refuse(quoted(variable.name) + " is declared twice", variable.at);
    }
    if (variable.range != 0) {
      auto& [declared, count] = ranges_[variable.name];
      if (count != 0 && declared.type != made.type) declared.type = Type::kNone;
      if (count == 0) declared = made;
      count = std::max(count, variable.range);
      return;
    }
    const auto [known, added] = names_.emplace(variable.name, made);
    if (!added && known->second.type != made.type) known->second.type = Type::kNone;
  }

  std::optional<Declared> find(std::string_view name) const {
    if (const auto found = names_.find(name); found != names_.end()) return found->second;
    std::size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
    for (std::size_t split = digits; split < name.size(); ++split) {
      const auto found = ranges_.find(name.substr(0, split));
      if (found == ranges_.end()) continue;
      unsigned number = 0;
      std::from_chars(name.data() + split, name.data() + name.size(), number);
      if (number < found->second.second) return found->second.first;
    }
    if (module_.variable(name) || module_.function(name)) return Declared{};
    if (is_special(name) || labels_.contains(name)) return Declared{};
    // A part of a register: %r1.b0, %v.x.
    const std::size_t point = name.rfind('.');
    if (point != name.npos && point != 0 && find(name.substr(0, point))) return Declared{};
    return std::nullopt;
  }

  void instruction(const Statement& s) {
    const std::string_view base = s.name.substr(0, s.name.find('.'));
    if (!s.guard.empty()) {
      const auto guard = find(s.guard);
      if (!guard) return refuse(quoted(s.guard) + " is not declared", s.at);
      if (guard->type != Type::kNone && guard->type != Type::kPred) {
        return refuse(quoted(s.guard) + " is no predicate", s.at);
      }
    }
    if (!has_instruction(target_, base)) {
      return refuse(quoted(base) + " is not for the target " + quoted(module_.target), s.at);
    }
    if (base == "bra") return branch(s);
    if (base == "call") return call(s);
    const std::vector<Role> roles = roles_of(s.name);
    for (std::size_t i = 0; i < s.operands.size(); ++i) {
      operand(s, s.operands[i], i < roles.size() ? roles[i] : Role{});
    }
  }

  void branch(const Statement& s) {
    for (const Operand& each : s.operands) {
      if (each.kind == Operand::Kind::kName && !labels_.contains(each.name)) {
        refuse("there is no label " + quoted(each.name), each.at);
      }
    }
  }

  void call(const Statement& s) {
    bool named = false;
    for (const Operand& each : s.operands) {
      if (each.kind != Operand::Kind::kName) {
        operand(s, each, {});
      } else if (!named) {
        named = true;
        const Function* const function = module_.function(each.name);
        if (!function && !find(each.name)) {
          refuse("there is no function " + quoted(each.name), each.at);
        } else if (function && !function->defined && !links_ && !is_provided(each.name)) {
          refuse("the function " + quoted(each.name) + " has no body", each.at);
        }
      }
    }
  }

  void operand(const Statement& s, const Operand& given, const Role& role) {
    if (given.kind == Operand::Kind::kVector || given.kind == Operand::Kind::kPair) {
      const bool pair = given.kind == Operand::Kind::kPair;
      for (const Operand& each : given.parts) {
        operand(s, each, pair ? role : Role{});
      }
      return;
    }
    const bool address = given.kind == Operand::Kind::kAddress;
    if ((given.kind != Operand::Kind::kName && !address) || given.name.empty()) return;
    const auto found = find(given.name);
    if (!found) return refuse(quoted(given.name) + " is not declared", given.at);
    const bool is_register = found->type != Type::kNone;
    const bool wrong = address ? found->type == Type::kPred : !fits(role, found->type);
    if (is_register && wrong) {
      refuse(quoted(given.name) + " is of another type than " + quoted(s.name) + " has there",
             given.at);
    }
  }

  const Module& module_;
  const Function& function_;
  const Target& target_;
  const bool links_;
  std::unordered_map<std::string_view, Declared> names_;
  std::unordered_map<std::string_view, std::pair<Declared, unsigned>> ranges_;
  std::set<std::string_view> labels_;
  Error error_;
};

}  // namespace

Error check_body(const Module& module, const Function& function, const Target& target, bool links) {
  return BodyCheck(module, function, target, links).run();
}

}  // namespace cuvmm::kernels
