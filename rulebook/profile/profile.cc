// SPDX-License-Identifier: Apache-2.0
#include "rulebook/profile/profile.h"

#include <algorithm>

#include "api/driver/driver.h"
#include "api/posix/whole_file.h"
#include "rulebook/profile/builtin_profiles.h"

namespace cuvmm {

std::string verdict_text(const Verdict& verdict) {
  switch (verdict.kind) {
    case Verdict::Kind::kAccepts:
      return "accepts";
    case Verdict::Kind::kCrashes:
      return "crashes";
    case Verdict::Kind::kCode:
      return result_name(verdict.code);
  }
  return "?";
}

const Verdict& Profile::verdict(EntryPoint entry, Rule rule) const {
  if (on_verdict) on_verdict(rule);
  const auto special = entry_verdicts.find({entry, rule});
  return special == entry_verdicts.end() ? verdicts[static_cast<std::size_t>(rule)]
                                         : special->second;
}

std::optional<int> Profile::attribute(int number, int devices) const {
  if (devices > 1) {
    const auto found = attributes_of_several.find(number);
    if (found != attributes_of_several.end()) return found->second;
  }
  const auto found = attributes.find(number);
  if (found == attributes.end()) return std::nullopt;
  return found->second;
}

CUresult Profile::answer(EntryPoint entry, const Violations& violations) const {
  const auto refusal = [&](Rule rule) {
    const Verdict& seen = verdict(entry, rule);
    return seen.kind == Verdict::Kind::kAccepts ? CUDA_SUCCESS : seen.code;
  };
  const auto broken = [&](Rule rule) {
    return std::any_of(violations.begin(), violations.end(),
                       [&](const Violation& v) { return v.rule == rule; });
  };
  if (violations.empty()) return CUDA_SUCCESS;
  const auto it = order.find(entry);
  if (it != order.end()) {
    for (Rule rule : it->second) {
      if (broken(rule) && refusal(rule) != CUDA_SUCCESS) return refusal(rule);
    }
  }
  for (const Violation& v : violations) {
    if (refusal(v.rule) != CUDA_SUCCESS) return refusal(v.rule);
  }
  return CUDA_SUCCESS;
}

std::string Profile::reason(EntryPoint entry, CUresult result) const {
  for (const EntryPoint of : {entry, EntryPoint::kCount}) {
    if (const auto found = because.find({of, result}); found != because.end()) return found->second;
  }
  return "";
}

namespace {
std::vector<std::string> builtin_names(bool platforms) {
  std::vector<std::string> names;
  for (const BuiltinProfile& builtin : builtin_profile_table()) {
    if (builtin.platform == platforms) names.push_back(builtin.name);
  }
  return names;
}
}  // namespace

std::vector<std::string> builtin_profiles() { return builtin_names(false); }

std::vector<std::string> platform_profiles() { return builtin_names(true); }

ProfileResult load_profile(const std::string& name_or_path) {
  for (const BuiltinProfile& builtin : builtin_profile_table()) {
    if (name_or_path == builtin.name)
      return parse_profile(builtin.text, "built-in profile " + name_or_path);
  }
  const WholeFile file = whole_file(name_or_path);
  if (!file.error.empty()) {
    std::string known;
    for (const BuiltinProfile& builtin : builtin_profile_table()) {
      known += (known.empty() ? "" : ", ") + std::string(builtin.name);
    }
    return {{},
            "no profile '" + name_or_path + "': expected one of " + known +
                ", or a readable TOML file"};
  }
  return parse_profile(file.text, name_or_path);
}

}  // namespace cuvmm
