// SPDX-License-Identifier: Apache-2.0
// Facts about a rule that its line of the catalogue lacks: the behaviour of drivers, a program that
// breaks the rule, its page. The texts, the pages and the JSON about rules are made from these
// facts.
#pragma once

#include <string>
#include <vector>

#include "rulebook/catalogue/rule.h"

namespace cuvmm::tools {

/// The behaviour of the driver of one built-in profile at a call that breaks a rule.
struct DriverBehaviour {
  std::string profile;
  std::string driver;  ///< its version
  std::string answer;  ///< "CUDA_ERROR_...", "accepts" or "crashes"
};

/// One element per built-in profile, but none for a second GPU of the same driver that answers
/// alike; empty for rules that no single call breaks (leaks and rules
/// that cannot be checked).
std::vector<DriverBehaviour> driver_behaviours(Rule rule);

/// "cuMemMap", or "any entry point", or the functions of a rule of several.
std::string entry_text(const RuleInfo& info);
/// Whether the rule holds for every function, such as driver-initialized.
bool of_every_function(Rule rule);
/// The function of the rule's line. For a rule of several functions, those whose calls break it in
/// a case of the conformance suite; empty if there is no such case.
std::vector<std::string> functions_of(Rule rule);
/// A phrase with the documented code, and with how firmly the documentation ties it to the rule.
std::string code_text(const RuleInfo& info);
/// For a rule of kind question: a sentence about the meaning of a refusal; "" for other rules.
std::string question_text(const RuleInfo& info);
/// "documented", "listed", "observed" or "none".
const char* basis_name(CodeBasis basis);
/// "10.2" for 10020.
std::string version_text(int cuda_version);
/// The stem of the page that explains the rule: "map" for docs/rules/map.md.
std::string area_of(Rule rule);
/// The address of the rule's page on the documents' site; "" if this build was made without
/// CUVMM_SITE.
std::string rule_web_page(Rule rule);
/// A program text whose last call breaks the rule; "" if there is none.
std::string example_of(Rule rule);

std::vector<std::string> rule_ids();
std::vector<std::string> entry_names();  ///< of the entry points that have rules
std::vector<std::string> kind_names();

}  // namespace cuvmm::tools
