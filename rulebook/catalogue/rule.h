// SPDX-License-Identifier: Apache-2.0
// The catalogue of rules: each documented precondition is one line of a table under
// rulebook/rules/.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/calls.h"

namespace cuvmm {

/// The meaning of a call that breaks the rule.
enum class RuleKind : std::uint8_t {
  kError,      ///< the documentation forbids it and names, or implies, a code
  kUndefined,  ///< the documentation leaves the behaviour undefined; drivers were seen to crash
  kLeak,       ///< the program gave up memory, address space or a descriptor without ending it
  kAdvice,     ///< legal or not documented, but known to fail or to surprise
  kAnswer,     ///< findings only: a question (RuleInfo::question) that the driver answered with no
};

/// How firmly the code belongs to the rule.
enum class CodeBasis : std::uint8_t {
  kDocumented,  ///< the documentation ties this code to this violation
  kListed,      ///< the code is in the function's list; cuvmm's authors assigned it to the rule
  kObserved,    ///< not documented; a recorded driver answered it
  kNone,        ///< no code belongs to it (leaks, undefined behaviour)
};

enum class Rule : std::uint16_t {
#define CUVMM_RULE(Name, ...) k##Name,
#define CUVMM_QUESTION(Name, ...) k##Name,
#define CUVMM_UNCHECKABLE(Name, ...) k##Name,
#include "rulebook/catalogue/rules.def"
  kCount
};

/// One line of the catalogue. All strings are static.
struct RuleInfo {
  Rule rule;
  const char* id;         ///< stable, e.g. "cuMemMap-offset-zero"; never reused for another meaning
  EntryPoint entry;       ///< EntryPoint::kCount for rules of every entry point
  const char* parameter;  ///< the parameter at fault, "" when it is the call as a whole
  RuleKind kind;
  CUresult code;  ///< documented code; CUDA_SUCCESS when none
  CodeBasis basis;
  int since;                ///< CUDA version from which it holds, as CUDA_VERSION writes it
  const char* requirement;  ///< one sentence, present tense, in our words
  const char* source;       ///< header page and parameter, guide section, or a named observation
  const char* fix;          ///< what to change, imperative
  const char* uncheckable;  ///< why no program can check it; nullptr for the rules that are checked
  /// The call asks whether this condition holds of a state that the program may not know. Then a
  /// refusal with `code` is the answer, and no misuse.
  bool question;
};

/// All rules, indexed by Rule.
std::span<const RuleInfo> rules();
const RuleInfo& info(Rule rule);
std::optional<Rule> find_rule(std::string_view id);
/// Why a rule is an error or undefined although its code is inferred (CodeBasis::kListed) and a
/// recorded driver accepts the call: one sentence. Null for every other rule.
const char* why_forbidden(Rule rule);
/// The text about the driver's answer to a call that broke the rule: "the driver answered
/// CUDA_SUCCESS; documented: CUDA_ERROR_INVALID_VALUE. This driver accepts it; others may not".
/// A code that no document names is "recorded drivers answer: ..." there. `result` is a code's
/// name, or "crashed"; `of_work` says that the finding is about work in flight.
std::string answer_text(const RuleInfo& rule, std::string_view result, bool of_work);
/// "error", "undefined", "leak", "advice", "answer".
const char* name(RuleKind kind);
/// Stem of the file under rulebook/rules/ that has the rule, e.g. "map".
const char* area(Rule rule);
/// Where the rule is explained: a page of docs/, relative to the repository, with its anchor.
std::string rule_url(Rule rule);

}  // namespace cuvmm
