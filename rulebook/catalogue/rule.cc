// SPDX-License-Identifier: Apache-2.0
#include "rulebook/catalogue/rule.h"

#include <algorithm>
#include <array>
#include <string>

#include "api/driver/driver.h"

namespace cuvmm {

namespace {
constexpr EntryPoint entry_of_Any = EntryPoint::kCount;
#define CUVMM_ENTRY(Name, area, ...) constexpr EntryPoint entry_of_##Name = EntryPoint::k##Name;
#include "api/entry_points.def"

struct Line {
  RuleInfo info;
  const char* area;
};

#define CUVMM_STRING(text) #text
#define CUVMM_AREA_STRING(area) CUVMM_STRING(area)
#define CUVMM_LINE(Name, id, Entry, parameter, Kind, code, Basis, since, requirement, source, fix, \
                   reason, question)                                                               \
  {{Rule::k##Name, id, entry_of_##Entry, parameter, RuleKind::k##Kind, code, CodeBasis::k##Basis,  \
    since, requirement, source, fix, reason, question},                                            \
   CUVMM_AREA_STRING(CUVMM_AREA)},

constexpr Line kLines[] = {
#define CUVMM_RULE(...) CUVMM_LINE(__VA_ARGS__, nullptr, false)
#define CUVMM_QUESTION(...) CUVMM_LINE(__VA_ARGS__, nullptr, true)
#define CUVMM_UNCHECKABLE(...) CUVMM_LINE(__VA_ARGS__, false)
#include "rulebook/catalogue/rules.def"
};
constexpr std::size_t kLineCount = sizeof(kLines) / sizeof(kLines[0]);
static_assert(kLineCount == static_cast<std::size_t>(Rule::kCount));

constexpr auto kInfos = [] {
  std::array<RuleInfo, kLineCount> infos{};
  for (std::size_t i = 0; i < kLineCount; ++i) infos[i] = kLines[i].info;
  return infos;
}();

constexpr bool ids_are_unique() {
  // Sorted, because clang allows a million steps for a constant, which are too few to compare every
  // pair.
  std::array<std::string_view, kLineCount> ids;
  for (std::size_t i = 0; i < kLineCount; ++i) ids[i] = kInfos[i].id;
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) == ids.end();
}
static_assert(ids_are_unique(), "a rule id is used twice");
}  // namespace

std::span<const RuleInfo> rules() { return kInfos; }

const RuleInfo& info(Rule rule) { return kInfos[static_cast<std::size_t>(rule)]; }

std::optional<Rule> find_rule(std::string_view id) {
  for (const RuleInfo& rule : kInfos) {
    if (id == rule.id) return rule.rule;
  }
  return std::nullopt;
}

const char* name(RuleKind kind) {
  switch (kind) {
    case RuleKind::kError:
      return "error";
    case RuleKind::kUndefined:
      return "undefined";
    case RuleKind::kLeak:
      return "leak";
    case RuleKind::kAdvice:
      return "advice";
    case RuleKind::kAnswer:
      return "answer";
  }
  return "?";
}

const char* why_forbidden(Rule rule) {
  switch (rule) {
#define CUVMM_FORBIDDEN(Name, why) \
  case Rule::k##Name:              \
    return why;
#include "rulebook/catalogue/rules.def"
    default:
      return nullptr;
  }
}

const char* area(Rule rule) { return kLines[static_cast<std::size_t>(rule)].area; }

std::string rule_url(Rule rule) {
  return std::string("docs/rules/") + area(rule) + ".md#" + info(rule).id;
}

std::string answer_text(const RuleInfo& rule, std::string_view result, bool of_work) {
  const char* const by =
      rule.basis == CodeBasis::kObserved ? "; recorded drivers answer: " : "; documented: ";
  const std::string expected = rule.code == CUDA_SUCCESS ? "" : by + result_name(rule.code);
  if (result == "crashed") return "the driver died in this call" + expected;
  std::string text = "the driver answered " + std::string(result) + expected;
  if (result != result_name(CUDA_SUCCESS)) return text;
  if (of_work) return text + ". It waits for no work";
  const bool forbidden = rule.kind == RuleKind::kError || rule.kind == RuleKind::kUndefined;
  if (!forbidden || rule.basis == CodeBasis::kNone) return text;
  return text + ". This driver accepts it; others may not";
}

}  // namespace cuvmm
