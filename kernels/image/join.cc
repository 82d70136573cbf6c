// SPDX-License-Identifier: Apache-2.0
#include "kernels/image/join.h"

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "kernels/check/target.h"
#include "kernels/text/lexer.h"

namespace cuvmm::kernels {

namespace {

/// The names of a text.
struct Scope {
  std::set<std::string_view> all, local;
  std::map<std::string_view, Place> defined;  ///< those that no other text may define
};

Scope scope_of(const Module& module) {
  Scope out;
  const auto add = [&](const auto& each, bool defined, bool local) {
    out.all.insert(each.name);
    if (!defined) return;
    if (local) out.local.insert(each.name);
    if (!local && !each.may_repeat) out.defined.emplace(each.name, each.at);
  };
  for (const Variable& each : module.variables) add(each, !each.is_extern, each.is_local);
  // A program finds every kernel by its name.
  for (const Function& each : module.functions)
    add(each, each.defined, each.is_local && !each.entry);
  return out;
}

// The text with `behind` behind each of the names.
std::string renamed(std::string_view text, const std::set<std::string_view>& names,
                    std::string_view behind) {
  std::string out;
  Lexer lexer(text);
  std::size_t copied = 0;
  for (Token token = lexer.next(); token.kind != Token::Kind::kEnd && !names.empty();
       token = lexer.next()) {
    if (token.kind != Token::Kind::kWord || !names.contains(token.text)) continue;
    const auto begin = static_cast<std::size_t>(token.text.data() - text.data());
    const std::size_t end = begin + token.text.size();
    out.append(text.substr(copied, end - copied)).append(behind);
    copied = end;
  }
  return out.append(text.substr(copied));
}

// The directive of the newest target; a text has the first target that it names.
std::string newest_target(std::span<const Module* const> modules) {
  std::string_view newest;
  for (const Module* each : modules) {
    if (newest.empty() ||
        target_named(each->target).architecture > target_named(newest).architecture)
      newest = each->target;
  }
  return ".target " + std::string(newest) + "\n";
}

}  // namespace

Error join(std::span<const Module* const> modules, std::string& out) {
  std::vector<Scope> scopes;
  std::set<std::string_view> defined;
  for (const Module* each : modules) {
    scopes.push_back(scope_of(*each));
    for (const auto& [name, at] : scopes.back().defined) {
      if (!defined.insert(name).second)
        return {"`" + std::string(name) + "` is defined in two inputs", at};
    }
  }
  out = newest_target(modules);
  for (std::size_t i = 0; i < modules.size(); ++i) {
    std::set<std::string_view> elsewhere;
    for (const std::string_view name : scopes[i].local) {
      for (std::size_t other = 0; other < modules.size(); ++other) {
        if (other != i && scopes[other].all.contains(name)) elsewhere.insert(name);
      }
    }
    out.append(renamed(modules[i]->text, elsewhere, "$" + std::to_string(i))).append("\n");
  }
  return {};
}

}  // namespace cuvmm::kernels
