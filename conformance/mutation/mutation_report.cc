// SPDX-License-Identifier: Apache-2.0
// The results of a mutation score: a verdict, and a page.
#include <set>
#include <sstream>

#include "conformance/mutation/mutation_score.h"

namespace cuvmm::conformance {

namespace {

std::pair<std::string, std::string> key(const Mutant& mutant) {
  return {info(mutant.rule).id, name(mutant.kind)};
}

std::string escape(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string percent(std::size_t part, std::size_t whole) {
  // Rounded down, so that only a full score reads 100 %.
  const std::size_t tenths = whole ? part * 1000 / whole : 0;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

std::string cell(const MutantResult& result) {
  if (result.noticed_by.empty()) return "**survives**";
  return "`" + result.noticed_by + "`: " + escape(result.answer);
}

}  // namespace

ParsedExplanations parse_explanations(const std::string& text, const std::string& file) {
  ParsedExplanations out;
  std::istringstream lines(text);
  int number = 0;
  std::string reason;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string id, kind;
    if (!(words >> id) || id[0] == '#') continue;
    if (id == "reason:") {
      std::getline(words >> std::ws, reason);
      continue;
    }
    words >> kind;
    const bool ends = (words >> std::ws).eof();
    const std::string where = file + ":" + std::to_string(number) + ": ";
    if (!find_rule(id)) {
      out.errors.push_back(where + "no rule '" + id + "'");
    } else if ((kind != "remove" && kind != "code" && kind != "both") || !ends) {
      out.errors.push_back(where + "expected RULE-ID remove|code|both, or reason: REASON");
    } else if (reason.empty()) {
      out.errors.push_back(where + "expected reason: REASON above the first rule");
    } else {
      for (const std::string one : {"remove", "code"}) {
        if (kind != one && kind != "both") continue;
        if (!out.reasons.emplace(std::pair(id, one), reason).second) {
          out.errors.push_back(where + id + " " + one + " is explained twice");
        }
      }
    }
  }
  return out;
}

std::vector<std::string> judge(const Score& score, const Explanations& reasons) {
  std::vector<std::string> mistakes;
  Explanations unused = reasons;
  for (const MutantResult& result : score.results) {
    const bool explained = unused.erase(key(result.mutant)) > 0;
    const bool survives = result.noticed_by.empty();
    const std::string text = mutation_text(result.mutant);
    if (survives && !explained) {
      mistakes.push_back("'" + text + "' survives: no case notices it");
    } else if (!survives && explained) {
      mistakes.push_back("'" + text + "' is explained as a survivor, but " + result.noticed_by +
                         " notices it: remove the explanation");
    }
  }
  for (const auto& [which, reason] : unused) {
    mistakes.push_back("'" + which.second + " " + which.first + "' is explained, but not tried");
  }
  return mistakes;
}

std::string score_markdown(const Score& score, const Explanations& reasons) {
  std::size_t noticed = 0, crashed = 0;
  std::map<Rule, std::map<Mutant::Kind, const MutantResult*>> by_rule;
  for (const MutantResult& result : score.results) {
    noticed += !result.noticed_by.empty();
    crashed += result.answer.rfind("signal:", 0) == 0;
    by_rule[result.mutant.rule][result.mutant.kind] = &result;
  }
  const std::size_t all = score.results.size();
  std::ostringstream out;
  out << "<!-- Written by `cuvmm-mutate --markdown`. "
         "-->\n"
         "# Mutation score\n\n"
         "The emulator with one deliberate mistake at a time (`CUVMM_MUTATION`, see "
         "docs/conformance.md):\neach rule not checked, then each rule with a wrong code. The "
         "suite notices a mistake when an outcome is\nneither what the unchanged emulator "
         "answers nor what the documentation allows. Pairs are not needed for it.\n\n"
      << "**" << noticed << " of " << all << " mistakes are noticed: " << percent(noticed, all)
      << "**; " << crashed << " of them because the process died.\n\n## Survivors\n\n";
  if (noticed == all) {
    out << "None.\n";
  } else {
    out << "| rule | mistake | why no case notices it |\n|---|---|---|\n";
  }
  for (const MutantResult& result : score.results) {
    if (!result.noticed_by.empty()) continue;
    const auto reason = reasons.find(key(result.mutant));
    out << "| `" << info(result.mutant.rule).id << "` | "
        << (result.mutant.kind == Mutant::Kind::kRemove
                ? "not checked"
                : "answers " + mutation_text(result.mutant)
                                   .substr(mutation_text(result.mutant).rfind(' ') + 1))
        << " | " << (reason == reasons.end() ? "**not explained**" : escape(reason->second))
        << " |\n";
  }
  out << "\n## Rule by rule\n\nThe first case that notices, and what it saw. \"-\": the "
         "documentation accepts what breaks the rule, so\nthere is nothing to remove.\n\n"
         "| rule | not checked | wrong code |\n|---|---|---|\n";
  for (const auto& [rule, kinds] : by_rule) {
    out << "| `" << info(rule).id << "`";
    for (Mutant::Kind kind : {Mutant::Kind::kRemove, Mutant::Kind::kCode}) {
      const auto found = kinds.find(kind);
      out << " | " << (found == kinds.end() ? "-" : cell(*found->second));
    }
    out << " |\n";
  }
  return out.str();
}

}  // namespace cuvmm::conformance
