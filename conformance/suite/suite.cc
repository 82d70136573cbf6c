// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/suite.h"

#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>

#include "conformance/suite/family_cases.h"

namespace cuvmm::conformance {

namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Suite built_in() {
  Suite suite;
  for (const SuiteFile& file : suite_files()) {
    if (ends_with(file.name, ".family")) {
      ParsedFamilies parsed = parse_families(file.text);
      for (const ParseError& error : parsed.errors)
        suite.errors.push_back(format_error(error, file.name));
      append(suite.families, std::move(parsed.families));
    } else if (ends_with(file.name, ".cuvmm")) {
      ParsedCases parsed = parse_cases(file.text, file.name);
      append(suite.errors, std::move(parsed.errors));
      append(suite.cases, std::move(parsed.cases));
    }
  }
  return suite;
}

Suite from_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code failed;
  std::vector<std::string> places = {folder};
  if (const fs::path below = fs::path(folder) / "families"; fs::is_directory(below, failed))
    places.push_back(below.string());
  const fs::path apart = fs::path(folder) / "cases";
  ParsedCases cases = load_cases({fs::is_directory(apart, failed) ? apart.string() : folder});
  LoadedFamilies loaded = load_families(places);
  Suite suite{std::move(cases.cases), std::move(loaded.families), std::move(cases.errors)};
  append(suite.errors, std::move(loaded.errors));
  return suite;
}

}  // namespace

Suite load_suite(const std::string& folder, bool with_pairs) {
  Suite suite = folder.empty() ? built_in() : from_folder(folder);
  append(suite.cases, single_cases(suite.families));
  if (with_pairs) append(suite.cases, pair_cases(suite.families));
  if (suite.cases.empty() && suite.errors.empty())
    suite.errors.push_back(folder + ": holds no *.cuvmm and no *.family files");
  std::set<std::string> names;
  for (const Case& each : suite.cases) {
    if (!names.insert(each.name).second)
      suite.errors.push_back("two cases have the name " + each.name);
  }
  return suite;
}

}  // namespace cuvmm::conformance
