// SPDX-License-Identifier: Apache-2.0
// The mutation score: does the suite notice when the emulator forgets a rule, or answers it with
// the wrong code? Each rule in turn, by CUVMM_MUTATION of emulator/base/mutation.h.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "conformance/suite/case.h"
#include "rulebook/catalogue/rule.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::conformance {

/// One mistake.
struct Mutant {
  enum class Kind : std::uint8_t { kRemove, kCode };
  Rule rule{};
  Kind kind = Kind::kRemove;
  CUresult code = CUDA_SUCCESS;  ///< for kCode: the wrong one
};

/// "remove" or "code", as the survivors' file names it.
const char* name(Mutant::Kind kind);
/// The value of CUVMM_MUTATION.
std::string mutation_text(const Mutant& mutant);
/// Both mistakes of every rule that a program can check, leaks aside (they are the shim's). No
/// removal where `documented` accepts what breaks the rule: nothing would change.
std::vector<Mutant> all_mutants(const Profile& documented);

struct MutantResult {
  Mutant mutant;
  std::string noticed_by;  ///< the first case that notices; empty: the mutant survives
  std::string expected;    ///< what the unchanged emulator answers there
  std::string answer;      ///< what the mutant answers
};

/// Reasons by rule id and kind.
using Explanations = std::map<std::pair<std::string, std::string>, std::string>;
struct ParsedExplanations {
  Explanations reasons;
  std::vector<std::string> errors;  ///< "FILE:LINE: what was expected"
};
/// "RULE-ID remove|code REASON" per line; `#` starts a comment line.
ParsedExplanations parse_explanations(const std::string& text, const std::string& file);

struct ScoreOptions {
  std::string emulator;  ///< path of its libcuda.so.1
  int jobs = 2;
  std::string only;  ///< id of the only rule to try; empty: all
};
struct Score {
  std::vector<MutantResult> results;
  std::string error;  ///< why there is none
};
/// Runs the suite on the unchanged emulator, then on each mutant those cases that say they break
/// the rule; where these notice nothing, all that make its call; then all. Cases in which the rule
/// decides nothing are left out: they cannot notice. A case notices when one of its outcomes is
/// neither the unchanged emulator's nor what the documentation allows.
Score mutation_score(const std::vector<Case>& cases, const std::vector<Mutant>& mutants,
                     const ScoreOptions& options);

/// Survivors without a reason, and reasons whose mutant is noticed after all or does not exist. One
/// sentence each.
std::vector<std::string> judge(const Score& score, const Explanations& reasons);
/// The report as Markdown.
std::string score_markdown(const Score& score, const Explanations& reasons);

}  // namespace cuvmm::conformance
