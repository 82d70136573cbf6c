// SPDX-License-Identifier: Apache-2.0
// The mutation score: does the suite notice if the emulator forgets a rule, or answers it with the
// wrong code? Tries each rule in turn, by CUVMM_MUTATION of emulator/base/mutation.h.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "conformance/suite/case.h"
#include "rulebook/catalogue/rule.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::conformance {

/// One mistake that is put into the emulator.
struct Mutant {
  enum class Kind : std::uint8_t { kRemove, kCode };
  Rule rule{};
  Kind kind = Kind::kRemove;
  CUresult code = CUDA_SUCCESS;  ///< for kCode: the wrong code
};

/// "remove" or "code", as the survivors' file writes it.
const char* name(Mutant::Kind kind);
/// The value of CUVMM_MUTATION.
std::string mutation_text(const Mutant& mutant);
/// Both mistakes for every rule that a program can check, except leaks, which the shim checks. A
/// rule has no removal if the profile `documented` accepts the call that breaks it, because nothing
/// would change.
std::vector<Mutant> all_mutants(const Profile& documented);

struct MutantResult {
  Mutant mutant;
  std::string noticed_by;  ///< the first case that notices the mistake; empty: the mutant survives
  std::string expected;    ///< the unchanged emulator's answer there
  std::string answer;      ///< the mutant's answer
};

/// Reasons by rule id and kind.
using Explanations = std::map<std::pair<std::string, std::string>, std::string>;
struct ParsedExplanations {
  Explanations reasons;
  std::vector<std::string> errors;  ///< "FILE:LINE: what was expected"
};
/// A line is "RULE-ID remove|code|both", or "reason: REASON", which is about the lines below it.
/// `#` starts a comment line.
ParsedExplanations parse_explanations(const std::string& text, const std::string& file);

struct ScoreOptions {
  std::string emulator;  ///< path of its libcuda.so.1
  int jobs = 2;
  std::string only;  ///< id of the only rule to try; empty: all
};
struct Score {
  std::vector<MutantResult> results;
  std::string error;  ///< why there is no score
};
/// Runs the suite on the unchanged emulator. Then runs on each mutant the cases that say they break
/// the rule; if these notice nothing, all cases that make its call; then all cases. Leaves out
/// cases in which the rule decides nothing, because they cannot notice. A case notices if the
/// mutant gives an outcome that neither the unchanged emulator gives nor the documentation allows.
Score mutation_score(const std::vector<Case>& cases, const std::vector<Mutant>& mutants,
                     const ScoreOptions& options);

/// The survivors without a reason, and the reasons whose mutant does not exist or does not survive.
/// One sentence each.
std::vector<std::string> judge(const Score& score, const Explanations& reasons);
/// The report as Markdown.
std::string score_markdown(const Score& score, const Explanations& reasons);

}  // namespace cuvmm::conformance
