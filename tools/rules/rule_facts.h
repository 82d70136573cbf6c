// SPDX-License-Identifier: Apache-2.0
// What is known of a rule beyond its line of the catalogue: how drivers behave, a program that
// breaks it, where its page is. The texts, the pages and the JSON are all written from it.
#pragma once

#include <string>
#include <vector>

#include "rulebook/catalogue/rule.h"

namespace cuvmm::tools {

/// What the driver of one built-in profile does with a call that breaks a rule.
struct DriverBehaviour {
  std::string profile;
  std::string answer;  ///< "CUDA_ERROR_...", "accepts" or "crashes"
};

/// One element per built-in profile; empty for rules that no call breaks by itself (leaks, and
/// those that cannot be checked).
std::vector<DriverBehaviour> driver_behaviours(Rule rule);

/// "cuMemMap", or "any entry point".
std::string entry_text(const RuleInfo& info);
/// The documented code with the firmness of its tie, as a phrase.
std::string code_text(const RuleInfo& info);
/// What a refusal of a question means, as a sentence; "" for other rules.
std::string question_text(const RuleInfo& info);
/// "documented", "listed", "observed" or "none".
const char* basis_name(CodeBasis basis);
/// "10.2" for 10020.
std::string version_text(int cuda_version);
/// The stem of the page that explains it: "map" for docs/rules/map.md.
std::string area_of(Rule rule);
/// A program in the program text whose last call breaks the rule; "" when there is none.
std::string example_of(Rule rule);

std::vector<std::string> rule_ids();
std::vector<std::string> entry_names();  ///< of the entry points that have rules
std::vector<std::string> kind_names();

}  // namespace cuvmm::tools
