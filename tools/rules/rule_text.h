// SPDX-License-Identifier: Apache-2.0
// The catalogue as text for a terminal, as JSON and as Markdown pages.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rulebook/catalogue/rule.h"

namespace cuvmm::tools {

/// Everything about one rule, for `cuvmm explain`. `documents`: the folder of the documents, in
/// place of docs/.
std::string explain_text(Rule rule, const std::string& documents = "docs");

/// One line per rule: kind, id, requirement; a blank line between areas.
std::string rules_text(const std::vector<Rule>& chosen);

/// An array with one object per rule.
nlohmann::ordered_json rules_json(const std::vector<Rule>& chosen);

/// File name ("map.md", and "README.md" for the table of contents) -> page. Each rule has an anchor
/// equal to its id, so that rule_url() leads to it.
std::map<std::string, std::string> rules_pages();

/// The page of each area that holds one of the rules, with these rules only, one after the other.
std::string rules_markdown(const std::vector<Rule>& chosen);

}  // namespace cuvmm::tools
