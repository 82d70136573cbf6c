// SPDX-License-Identifier: Apache-2.0
#include "tools/rules/rule_examples.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "conformance/suite/suite.h"

namespace cuvmm::tools {

using conformance::Case;
using conformance::Need;

namespace {

// The emulator, on which a reader tries the example, lacks nothing of these.
bool runs_anywhere(const Case& each) {
  return std::ranges::all_of(each.needs, [](const Need& need) {
    return need.what == Need::What::kMulticast || need.what == Need::What::kManaged;
  });
}

// Without the line that names the version, which readers do not need.
std::string text_of(const program::Program& program) {
  std::string text;
  for (const program::Statement& statement : program.statements) text += print(statement) + "\n";
  return text;
}

}  // namespace

const std::vector<Case>& suite_cases() {
  static const std::vector<Case> cases = conformance::load_suite("", false).cases;
  return cases;
}

std::string shortest_case(std::span<const Case> cases, std::string_view rule) {
  const auto order = [](const Case& each) {
    return std::tuple(!runs_anywhere(each), each.program.statements.size(),
                      text_of(each.program).size());
  };
  const Case* best = nullptr;
  for (const Case& each : cases) {
    if (each.breaks.size() != 1 || each.breaks[0] != rule) continue;
    // Cases of leaks break their rule at the end, and mark no statement.
    const bool marked = std::ranges::any_of(each.program.statements,
                                            [](const auto& it) { return !it.breaks.empty(); });
    if (marked && (!best || order(each) < order(*best))) best = &each;
  }
  return best ? text_of(best->program) : "";
}

std::vector<std::string> functions_that_break(std::span<const Case> cases, std::string_view rule) {
  std::set<std::string> names;
  for (const Case& each : cases) {
    for (const program::Statement& statement : each.program.statements) {
      if (std::ranges::find(statement.breaks, rule) != statement.breaks.end()) {
        names.insert(statement.function);
      }
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace cuvmm::tools
