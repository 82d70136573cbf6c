// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/family.h"

#include <algorithm>
#include <set>

namespace cuvmm::conformance {

namespace {

// The rule's id without its entry point: "offset-zero" of "cuMemMap-offset-zero".
std::string short_name(const Family& family, const Break& b) {
  const std::string id = info(b.rule).id;
  const std::string prefix = family.call.function + "-";
  std::string name = id.rfind(prefix, 0) == 0 ? id.substr(prefix.size()) : id;
  return b.variant.empty() ? name : name + "~" + b.variant;
}

FamilyCase build(const Family& family, const std::vector<const Break*>& breaks, std::string name) {
  FamilyCase out;
  out.name = family.name + "/" + std::move(name);
  out.devices = family.devices;
  out.cuda = family.cuda;
  out.optional = family.optional;
  out.program.statements = family.given;
  Statement call = family.call;
  if (breaks.size() == 1 && breaks[0]->instead) call = *breaks[0]->instead;
  for (const Break* b : breaks) {
    out.rules.push_back(b->rule);
    out.program.statements.insert(out.program.statements.end(), b->before.begin(), b->before.end());
    for (const Argument& replacement : b->replacements) {
      auto it = std::find_if(call.arguments.begin(), call.arguments.end(),
                             [&](const Argument& a) { return a.key == replacement.key; });
      if (it != call.arguments.end())
        *it = replacement;
      else
        call.arguments.push_back(replacement);
    }
  }
  out.program.statements.push_back(std::move(call));
  return out;
}

bool combine(const Break& a, const Break& b) {
  if (a.rule == b.rule || a.instead || b.instead) return false;
  // Two statements in front of the call could undo each other; a statement and arguments cannot.
  if (!a.before.empty() && !b.before.empty()) return false;
  return std::none_of(a.replacements.begin(), a.replacements.end(), [&](const Argument& x) {
    return std::any_of(b.replacements.begin(), b.replacements.end(),
                       [&](const Argument& y) { return x.key == y.key; });
  });
}

}  // namespace

std::vector<FamilyCase> singles(const Family& family) {
  std::vector<FamilyCase> out = {build(family, {}, "legal")};
  for (const Break& b : family.breaks) out.push_back(build(family, {&b}, short_name(family, b)));
  return out;
}

std::vector<FamilyCase> pairs(const Family& family) {
  std::vector<FamilyCase> out;
  for (std::size_t i = 0; i < family.breaks.size(); ++i) {
    for (std::size_t j = i + 1; j < family.breaks.size(); ++j) {
      const Break& a = family.breaks[i];
      const Break& b = family.breaks[j];
      if (combine(a, b))
        out.push_back(build(family, {&a, &b}, short_name(family, a) + "+" + short_name(family, b)));
    }
  }
  return out;
}

}  // namespace cuvmm::conformance
