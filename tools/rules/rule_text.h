// SPDX-License-Identifier: Apache-2.0
// The catalogue as text for a terminal, as JSON and as Markdown pages.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rulebook/catalogue/rule.h"

namespace cuvmm::tools {

/// The text of `cuvmm explain` about one rule. `documents`: folder of the rule's page; without it,
/// the text names no page.
std::string explain_text(Rule rule, const std::string& documents = "");

/// One line per rule: kind, id, requirement; a blank line between areas.
std::string rules_text(const std::vector<Rule>& chosen);

/// An array with one object per rule.
nlohmann::ordered_json rules_json(const std::vector<Rule>& chosen);

/// The pages by file name: "map.md", and "README.md" with the table of contents. Each rule has an
/// anchor equal to its id, because rule_url() links to it.
std::map<std::string, std::string> rules_pages();

/// The pages of all areas of the chosen rules, one after the other, with only these rules.
/// The part of a page that is about one rule, from its heading on.
std::string rule_section(Rule rule);
std::string rules_markdown(const std::vector<Rule>& chosen);

}  // namespace cuvmm::tools
