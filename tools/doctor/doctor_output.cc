// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/doctor_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace cuvmm::doctor {

namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kIndent = 12;  // under the ids: "  does not  "

// Words of `text`, filled to the width. The first line begins at `column`.
std::string filled(const std::string& text, std::size_t column) {
  std::istringstream words(text);
  std::string out, word;
  bool first = true;
  while (words >> word) {
    if (!first && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(kIndent, ' ');
      column = kIndent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
  return out;
}

bool is_check(std::string_view id) {
  const auto table = check_table();
  return std::any_of(table.begin(), table.end(),
                     [&](const CheckInfo& info) { return id == info.id; });
}

int count(std::span<const Check> checks, Status status) {
  int found = 0;
  for (const Check& check : checks) found += check.status == status;
  return found;
}

}  // namespace

std::string check_text(const Check& check, std::string_view lead) {
  const std::string start = fmt::format("  {:<8}  {}: ", lead, check.id);
  std::string text = start + filled(check.detail, start.size()) + "\n";
  if (check.status == Status::kWorks) return text;
  // A check whose fix is "see ID" fails because of check ID, whose own lines explain that.
  const std::string there = check.fix.starts_with("see ") ? check.fix.substr(4) : "";
  const bool elsewhere = is_check(there);
  if (elsewhere && check.detail.ends_with("(" + check.fix + ")")) return text;
  const std::string indent(kIndent, ' ');
  if (!check.fix.empty()) {
    text += indent + "fix: " + filled(check.fix, kIndent + 5) + "\n";
  }
  if (!check.source.empty() && !elsewhere) {
    text += indent + "source: " + filled(check.source, kIndent + 8) + "\n";
  }
  return text;
}

std::string doctor_text(std::span<const Check> checks, std::span<const std::string> needed) {
  std::string text, section;
  for (const CheckInfo& info : check_table()) {
    const Check* check = find(checks, info.id);
    if (!check) continue;
    if (section != info.section) {
      section = info.section;
      text += section + "\n";
    }
    text += check_text(*check, status_text(check->status));
  }
  std::string summary =
      fmt::format("{} work, {} do not, {} unknown", count(checks, Status::kWorks),
                  count(checks, Status::kDoesNot), count(checks, Status::kUnknown));
  if (!needed.empty()) {
    const auto missing = unmet(checks, needed);
    summary += missing.empty() ? "; all that is needed works" : "; needed, but not there:";
    for (const Check* check : missing) summary += (check == missing[0] ? " " : ", ") + check->id;
  }
  summary += '\n';
  const Check* const driver = find(checks, "driver");
  if (driver && driver->status != Status::kWorks && needed.empty()) {
    summary += "The emulator works without a driver: cuvmm run --emulate -- PROGRAM\n";
  }
  return text + summary;
}

std::string doctor_json(std::span<const Check> checks) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Check& check : checks) {
    list.push_back({{"id", check.id},
                    {"status", status_text(check.status)},
                    {"detail", check.detail},
                    {"fix", check.fix},
                    {"source", check.source}});
  }
  // A driver's text may be no valid UTF-8, at which dump() would throw.
  return Json{{"checks", list}}.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cuvmm::doctor
