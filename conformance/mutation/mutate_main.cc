// SPDX-License-Identifier: Apache-2.0
// cuvmm-mutate: puts mistakes into the emulator, and counts how many of them the suite notices.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "api/posix/whole_file.h"
#include "conformance/mutation/mutation_score.h"
#include "conformance/suite/family_cases.h"

namespace {

constexpr const char kUsage[] =
    "usage: cuvmm-mutate --emulator PATH [--cases PATH]... [--families PATH]... [--survivors "
    "FILE]\n"
    "                    [--markdown FILE] [--jobs N] [--rule ID]\n"
    "\n"
    "Puts one mistake at a time into the emulator at PATH (each rule not checked, each rule with "
    "a\n"
    "wrong code) and says whether the cases notice. Exits with 1 when one does not that "
    "--survivors\n"
    "does not explain (RULE-ID remove|code|both REASON per line).\n";

struct Arguments {
  cuvmm::conformance::ScoreOptions score;
  std::vector<std::string> cases, families;
  std::string survivors, markdown;
};

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) return false;
    const char* value = argv[i + 1];
    if (option == "--emulator") {
      arguments.score.emulator = value;
    } else if (option == "--cases") {
      arguments.cases.emplace_back(value);
    } else if (option == "--families") {
      arguments.families.emplace_back(value);
    } else if (option == "--survivors") {
      arguments.survivors = value;
    } else if (option == "--markdown") {
      arguments.markdown = value;
    } else if (option == "--jobs") {
      arguments.score.jobs = std::atoi(value);
    } else if (option == "--rule") {
      arguments.score.only = value;
    } else {
      return false;
    }
  }
  return !arguments.score.emulator.empty() && arguments.score.jobs > 0;
}

std::string read(const std::string& path, std::vector<std::string>& errors) {
  cuvmm::WholeFile file = cuvmm::whole_file(path);
  if (!file.error.empty()) errors.push_back(path + ": " + file.error);
  return std::move(file.text);
}

int report(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::fprintf(stderr, "cuvmm-mutate: %s\n", line.c_str());
  return lines.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  cuvmm::conformance::ParsedCases parsed = cuvmm::conformance::load_cases(arguments.cases);
  const cuvmm::conformance::LoadedFamilies loaded =
      cuvmm::conformance::load_families(arguments.families);
  parsed.errors.insert(parsed.errors.end(), loaded.errors.begin(), loaded.errors.end());
  for (cuvmm::conformance::Case& each : cuvmm::conformance::single_cases(loaded.families))
    parsed.cases.push_back(std::move(each));
  cuvmm::conformance::ParsedExplanations explained;
  if (!arguments.survivors.empty()) {
    explained = cuvmm::conformance::parse_explanations(read(arguments.survivors, parsed.errors),
                                                       arguments.survivors);
    parsed.errors.insert(parsed.errors.end(), explained.errors.begin(), explained.errors.end());
  }
  if (!arguments.score.only.empty() && !cuvmm::find_rule(arguments.score.only))
    parsed.errors.push_back("--rule: no rule '" + arguments.score.only + "'");
  if (report(parsed.errors)) return 2;

  const cuvmm::ProfileResult documented = cuvmm::load_profile("documented");
  if (!documented.error.empty()) return report({documented.error}) ? 2 : 0;
  const cuvmm::conformance::Score score = cuvmm::conformance::mutation_score(
      parsed.cases, cuvmm::conformance::all_mutants(documented.profile), arguments.score);
  if (!score.error.empty()) return report({score.error});
  for (const cuvmm::conformance::MutantResult& result : score.results) {
    const bool survives = result.noticed_by.empty();
    std::printf("%-8s %s%s\n", survives ? "SURVIVES" : "noticed",
                cuvmm::conformance::mutation_text(result.mutant).c_str(),
                survives ? "" : ("  (" + result.noticed_by + ": " + result.answer + ")").c_str());
  }
  std::size_t noticed = 0;
  for (const cuvmm::conformance::MutantResult& result : score.results)
    noticed += !result.noticed_by.empty();
  std::printf("%zu of %zu mutants noticed by %zu cases\n", noticed, score.results.size(),
              parsed.cases.size());
  if (!arguments.markdown.empty()) {
    std::ofstream(arguments.markdown)
        << cuvmm::conformance::score_markdown(score, explained.reasons);
  }
  // With only one rule, the explanations of the other rules are not checked.
  return arguments.score.only.empty() ? report(cuvmm::conformance::judge(score, explained.reasons))
                                      : 0;
}
