// SPDX-License-Identifier: Apache-2.0
#include "conformance/run/known_facts.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "conformance/suite/suite.h"

namespace cuvmm::conformance {

namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  const std::size_t last = text.find_last_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::vector<std::string> columns(const std::string& line) {
  std::vector<std::string> found;
  std::istringstream parts(line);
  for (std::string part; std::getline(parts, part, '|');) found.push_back(trimmed(part));
  return found;
}

// The number behind "CASE:", counted from 0; -1 if there is no number.
int statement_of(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  if (colon == std::string::npos || colon == 0) return -1;
  const std::string digits = place.substr(colon + 1);
  constexpr std::size_t kMostDigits = 4;
  if (digits.empty() || digits.size() > kMostDigits ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return -1;
  }
  return std::stoi(digits) - 1;
}

}  // namespace

std::string KnownFacts::parse(const std::string& text, const std::string& file) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (trimmed(line).empty() || line[0] == '#') continue;
    const auto row = columns(line);
    const int statement = row.empty() ? -1 : statement_of(row[0]);
    if (row.size() != 3 || statement < 0 || row[1].empty() || row[2].empty()) {
      return file + ":" + std::to_string(number) + ":1: expected CASE:STATEMENT | ANSWER | REASON";
    }
    facts_.emplace(
        std::pair{row[0].substr(0, row[0].rfind(':')), static_cast<std::size_t>(statement)},
        Fact{row[1], row[2]});
  }
  return {};
}

std::string KnownFacts::reason(const std::string& test_case, std::size_t statement,
                               const std::string& answer) const {
  const auto [first, last] = facts_.equal_range({test_case, statement});
  const auto found =
      std::find_if(first, last, [&](const auto& row) { return row.second.answer == answer; });
  return found != last ? found->second.reason : "";
}

std::optional<Profile> known_profile(const Recording& recording) {
  if (recording.emulated) {
    const char* chosen = std::getenv("CUVMM_PROFILE");
    ProfileResult loaded = load_profile(chosen && *chosen ? chosen : builtin_profiles().front());
    if (loaded.error.empty()) return std::move(loaded.profile);
    return std::nullopt;
  }
  std::optional<Profile> same_driver;
  for (const std::string& name : builtin_profiles()) {
    ProfileResult loaded = load_profile(name);
    if (!loaded.error.empty() || loaded.profile.driver.empty() ||
        loaded.profile.driver != recording.driver_version) {
      continue;
    }
    if (loaded.profile.gpu == recording.gpu) return std::move(loaded.profile);
    if (!same_driver) same_driver = std::move(loaded.profile);
  }
  return same_driver;
}

KnownFacts known_facts(const std::string& driver) {
  KnownFacts facts;
  if (driver.empty()) return facts;
  for (const SuiteFile& file : suite_files()) {
    const std::string name = file.name;
    if (name.ends_with("-" + driver + ".known")) facts.parse(file.text, name);
  }
  return facts;
}

}  // namespace cuvmm::conformance
