// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "tools/matrix/matrix.h"
#include "tools/rules/rule_facts.h"

namespace cuvmm::tools {

namespace {

using Status = MatrixCell::Status;

// Removes the prefix that all codes share, because cells are narrow.
std::string brief(const std::string& answer) {
  constexpr std::string_view kPrefix = "CUDA_ERROR_";
  return answer.rfind(kPrefix, 0) == 0 ? answer.substr(kPrefix.size()) : answer;
}

std::string cell_text(const MatrixCell& cell) {
  switch (cell.status) {
    case Status::kPass:
      return answers_text(cell);
    case Status::kNotRun:
      return "not run";
    case Status::kNotSupported:
      return "not supported";
    default:
      return fmt::format("**{}: {}**", name(cell.status), answers_text(cell));
  }
}

std::string header(const std::string& command) {
  return fmt::format("<!-- Written by docs/generate: `{}`. -->\n", command);
}

// The cases that show the answers: a few names, and the number of further ones.
std::string cases_text(const MatrixCell& cell) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (const MatrixCell::Answer& answer : cell.answers) {
    if (cell.answers.size() > 1) text += (text.empty() ? "" : "; ") + brief(answer.text) + ": ";
    for (std::size_t i = 0; i < std::min(kShown, answer.cases.size()); ++i)
      text += (i ? ", `" : "`") + answer.cases[i] + "`";
    if (answer.cases.size() > kShown)
      text += fmt::format(" and {} more", answer.cases.size() - kShown);
  }
  return text;
}

constexpr const char* kKinds[][2] = {
    {"error", "Calls that the documentation forbids"},
    {"undefined", "Calls that the documentation leaves undefined"},
    {"advice", "Calls that the documentation allows, and this driver refuses"},
};

}  // namespace

std::string markdown_text(std::string_view text) {
  std::string result;
  for (char c : text) {
    // These characters have a meaning in Markdown; `|` would end a table's cell.
    if (c == '|' || c == '<' || c == '*' || c == '\\' || c == '[' || c == ']') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string rule_link(Rule rule, std::string_view docs) {
  return fmt::format("[{0}]({2}rules/{1}.md#{0})", info(rule).id, area_of(rule), docs);
}

std::string answers_text(const MatrixCell& cell) {
  std::string text;
  for (const MatrixCell::Answer& answer : cell.answers)
    text += (text.empty() ? "" : " / ") + brief(answer.text);
  return text;
}

std::string counts_text(const Matrix& matrix, const MatrixColumn& column) {
  std::string text;
  for (const auto& [status, number] : count(matrix, column))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number, name(status));
  return text;
}

std::string deviation_tables(const Matrix& matrix, const MatrixColumn& column,
                             std::string_view docs) {
  std::string text;
  for (const auto& [kind, title] : kKinds) {
    std::string rows;
    for (Rule rule : matrix.rules) {
      const MatrixCell& cell = cell_of(column, rule);
      const bool differs = cell.status == Status::kDeviation || cell.status == Status::kCrash;
      if (!differs || std::string(name(info(rule).kind)) != kind) continue;
      rows += fmt::format("| {} | {} | {} | {} | {} |\n", rule_link(rule, docs),
                          markdown_text(info(rule).requirement), brief(documented_answer(rule)),
                          answers_text(cell), cases_text(cell));
    }
    if (rows.empty()) continue;
    text += fmt::format(
        "\n### {}\n\n| rule | requirement | documented | seen | shown by |\n"
        "|---|---|---|---|---|\n{}",
        title, rows);
  }
  std::map<std::string, std::string> open;  // by reason
  for (Rule rule : matrix.rules) {
    const MatrixCell& cell = cell_of(column, rule);
    if (cell.status != Status::kNotSupported && cell.status != Status::kNotRun) continue;
    std::string& rules =
        open[cell.reason.empty() ? "no case of this run breaks this rule alone" : cell.reason];
    rules += (rules.empty() ? "" : ", ") + rule_link(rule, docs);
  }
  if (!open.empty()) text += "\n### Rules without an answer\n\n| why | rules |\n|---|---|\n";
  for (const auto& [reason, rules] : open)
    text += fmt::format("| {} | {} |\n", markdown_text(reason), rules);
  return text;
}

std::string matrix_markdown(const Matrix& matrix, const std::string& command) {
  std::string text = header(command) +
                     "# Rules and drivers\n\n"
                     "A cell has the driver's answer to a call that breaks this rule and no "
                     "other. A cell in bold\n"
                     "is not as the documentation says. Several answers in a cell come from "
                     "different cases of the\n"
                     "rule. Codes are written without `CUDA_ERROR_`; \"accepts\" is CUDA_SUCCESS.\n"
                     "[deviations.md](deviations.md) names the cases.\n\n"
                     "| driver | run | rules |\n|---|---|---|\n";
  for (const MatrixColumn& column : matrix.columns) {
    text += fmt::format("| {} | {} | {} |\n", markdown_text(column.title),
                        markdown_text(column.detail), counts_text(matrix, column));
  }
  std::string area;
  for (Rule rule : matrix.rules) {
    if (area != area_of(rule)) {
      area = area_of(rule);
      text += fmt::format("\n## {}\n\n| rule | kind | documented |", area);
      for (const MatrixColumn& column : matrix.columns)
        text += " " + markdown_text(column.title) + " |";
      text += "\n|---|---|---|";
      for (std::size_t i = 0; i < matrix.columns.size(); ++i) text += "---|";
      text += '\n';
    }
    text += fmt::format("| {} | {} | {} |", rule_link(rule, ""), name(info(rule).kind),
                        brief(documented_answer(rule)));
    for (const MatrixColumn& column : matrix.columns)
      text += " " + cell_text(cell_of(column, rule)) + " |";
    text += '\n';
  }
  return text;
}

std::string deviations_markdown(const Matrix& matrix, const std::string& command) {
  std::string text = header(command) +
                     "# Where documentation and drivers differ\n\n"
                     "The rules that a driver does not treat as the documentation says, and the "
                     "conformance cases\n"
                     "that show it. `cuvmm conform --filter CASE` runs one of them. "
                     "[matrix.md](matrix.md) also has\n"
                     "the rules on which driver and documentation agree. Codes are written without "
                     "`CUDA_ERROR_`;\n"
                     "\"accepts\" is CUDA_SUCCESS.\n";
  for (const MatrixColumn& column : matrix.columns) {
    text += fmt::format("\n## {}\n\n{}. {}.\n{}", markdown_text(column.title),
                        markdown_text(column.detail), counts_text(matrix, column),
                        deviation_tables(matrix, column, ""));
  }
  return text;
}

}  // namespace cuvmm::tools
