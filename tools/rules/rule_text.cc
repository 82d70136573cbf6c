// SPDX-License-Identifier: Apache-2.0
#include "tools/rules/rule_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "api/driver/driver.h"
#include "tools/rules/rule_facts.h"

namespace cuvmm::tools {

namespace {

constexpr std::size_t kWidth = 100;  // columns

// Breaks `text` at blanks. All lines but the first are indented by `indent` columns.
std::string wrap(const std::string& text, std::size_t indent) {
  std::istringstream words(text);
  std::string result;
  std::size_t column = indent;
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > kWidth) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

std::string field(const char* label, const std::string& text) {
  return fmt::format("  {:<11} {}\n", label, wrap(text, 14));
}

std::string behaviour_text(const std::string& answer) {
  if (answer == "accepts") return "accepts the call in silence";
  if (answer == "crashes") return "crashes";
  return "answers " + answer;
}

}  // namespace

std::string explain_text(Rule rule, const std::string& documents) {
  const RuleInfo& it = info(rule);
  std::string text =
      fmt::format("{} ({})\n\n  {}\n\n", it.id, name(it.kind), wrap(it.requirement, 2));
  const std::string parameter = *it.parameter ? fmt::format(", parameter {}", it.parameter) : "";
  text += field("call", entry_text(it) + parameter);
  text += field("code", code_text(it));
  if (const std::string question = question_text(it); !question.empty()) {
    text += field("question", question);
  }
  if (const char* why = why_forbidden(rule)) {
    text += field("forbidden", std::string("though a driver accepts it: ") + why);
  }
  text += field("since", "CUDA " + version_text(it.since));
  text += field("source", it.source);
  text += field("fix", it.fix);
  if (it.uncheckable) text += field("not checked", it.uncheckable);
  const char* label = "drivers";
  for (const DriverBehaviour& driver : driver_behaviours(rule)) {
    text += field(label, fmt::format("{}: {}", driver.profile, behaviour_text(driver.answer)));
    label = "";
  }
  if (!documents.empty()) {
    text += field("page", documents + rule_url(rule).substr(std::string_view("docs").size()));
  }
  if (const std::string example = example_of(rule); !example.empty()) {
    text +=
        "\n  A program that breaks it (`cuvmm replay FILE` runs it, `cuvmm to-c FILE` makes it "
        "C):\n\n";
    std::istringstream lines(example);
    for (std::string line; std::getline(lines, line);) text += "    " + line + "\n";
  }
  return text;
}

std::string rules_text(const std::vector<Rule>& chosen) {
  std::size_t longest = 0;
  for (Rule rule : chosen) longest = std::max(longest, std::string(info(rule).id).size());
  std::string text, last;
  for (Rule rule : chosen) {
    if (!last.empty() && area_of(rule) != last) text += '\n';
    last = area_of(rule);
    const RuleInfo& it = info(rule);
    text += fmt::format("{:<9}  {:<{}}  {}{}\n", name(it.kind), it.id, longest, it.requirement,
                        it.uncheckable ? " (not checked)" : "");
  }
  return text;
}

nlohmann::ordered_json rules_json(const std::vector<Rule>& chosen) {
  auto list = nlohmann::ordered_json::array();
  for (Rule rule : chosen) {
    const RuleInfo& it = info(rule);
    nlohmann::ordered_json one;
    one["id"] = it.id;
    one["kind"] = name(it.kind);
    one["entry"] = it.entry == EntryPoint::kCount ? nlohmann::ordered_json() : name(it.entry);
    one["functions"] = functions_of(rule);
    one["parameter"] = it.parameter;
    one["requirement"] = it.requirement;
    if (it.code == CUDA_SUCCESS) {
      one["code"] = nullptr;
    } else {
      one["code"] = result_name(it.code);
    }
    one["code_basis"] = basis_name(it.basis);
    one["question"] = it.question;
    if (const char* why = why_forbidden(rule)) one["forbidden_though_accepted"] = why;
    one["since"] = version_text(it.since);
    one["source"] = it.source;
    one["fix"] = it.fix;
    one["checked"] = it.uncheckable == nullptr;
    if (it.uncheckable) one["not_checked_because"] = it.uncheckable;
    one["drivers"] = nlohmann::ordered_json::object();
    for (const DriverBehaviour& driver : driver_behaviours(rule)) {
      one["drivers"][driver.profile] = driver.answer;
    }
    one["url"] = rule_url(rule);
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace cuvmm::tools
