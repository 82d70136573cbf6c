// SPDX-License-Identifier: Apache-2.0
#include "conformance/mutation/mutation_score.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "api/driver/driver.h"
#include "conformance/record/record.h"

namespace cuvmm::conformance {

namespace {

using Answers = std::map<std::string, std::vector<std::string>>;

// Whether the documentation allows this answer to the statement.
bool allowed(const Statement& statement, const std::string& outcome) {
  const std::string code = outcome.substr(0, outcome.find(" ="));
  bool only_advice = !statement.breaks.empty();
  for (const std::string& id : statement.breaks) {
    const auto rule = find_rule(id);
    only_advice = only_advice && rule && info(*rule).kind == RuleKind::kAdvice;
  }
  if (only_advice) {
    // Advice does not forbid the call, so the call may succeed, or fail with the code of the rule.
    return code == "CUDA_SUCCESS" ||
           std::any_of(statement.breaks.begin(), statement.breaks.end(),
                       [&](const std::string& id) {
                         return code == result_name(info(*find_rule(id)).code);
                       });
  }
  if (code != result_name(expected_result(statement))) return false;
  return statement.expected_value.empty() || outcome == code + " =" + statement.expected_value;
}

class Scorer {
 public:
  Scorer(const std::vector<Case>& cases, const ScoreOptions& options)
      : cases_(cases), options_(options) {}

  Score run(const std::vector<Mutant>& mutants) {
    Score score;
    setenv("CUVMM_PROFILE", "documented", 1);
    setenv("CUVMM_MULTICAST_TIMEOUT_MS", "50", 1);  // no other process will join the team
    unsetenv("CUVMM_MUTATION");
    std::vector<const Case*> all;
    for (const Case& each : cases_) all.push_back(&each);
    unchanged_ = answers(all, score.error);
    if (score.error.empty()) watch(all, score.error);
    if (!score.error.empty()) return score;
    for (const Mutant& mutant : mutants) {
      if (!options_.only.empty() && options_.only != info(mutant.rule).id) continue;
      score.results.push_back(try_mutant(mutant));
    }
    unsetenv("CUVMM_MUTATION");
    return score;
  }

 private:
  // Runs every case on a machine with as many devices as the case needs.
  Answers answers(const std::vector<const Case*>& chosen, std::string& error) const {
    RecordOptions record;
    record.share = true;
    return run_on_machines(chosen, record, error).cases;
  }

  Recording run_on_machines(const std::vector<const Case*>& chosen, RecordOptions record,
                            std::string& error) const {
    Recording out;
    for (int devices : {1, 2}) {
      std::vector<Case> here;
      for (const Case* each : chosen) {
        const bool one_will_do =
            unmet_need(*each, Machine{.devices = 1, .multicast = true, .managed = true}).empty();
        if (one_will_do == (devices == 1)) here.push_back(*each);
      }
      if (here.empty()) continue;
      setenv("CUVMM_DEVICES", devices == 1 ? "1" : "2", 1);
      record.jobs = std::min(options_.jobs, static_cast<int>(here.size()));
      RecordResult result = record_cases(options_.emulator, here, record);
      if (!result.error.empty()) error = result.error;
      out.cases.merge(result.recording.cases);
      out.processes.merge(result.recording.processes);
    }
    return out;
  }

  // Finds the rules that decide in each case. Until a rule with a mistake decides, the mutant does
  // the same as the unchanged emulator, so a case in which the rule never decides cannot notice.
  void watch(const std::vector<const Case*>& all, std::string& error) {
    std::string file = std::filesystem::temp_directory_path() / "cuvmm-mutate-XXXXXX";
    const int descriptor = mkstemp(file.data());
    if (descriptor < 0) {
      error = file + ": cannot be made";
      return;
    }
    close(descriptor);
    setenv("CUVMM_MUTATION", ("watch " + file).c_str(), 1);
    RecordOptions record;  // each case has processes of its own, so a process id tells the case
    record.process_ids = true;
    const Recording watched = run_on_machines(all, record, error);
    unsetenv("CUVMM_MUTATION");
    std::map<int, std::set<std::string>> by_process;
    {
      std::ifstream lines(file);
      std::string id;
      for (int process = 0; lines >> process >> id;) by_process[process].insert(id);
    }
    std::filesystem::remove(file);
    if (by_process.empty() && error.empty()) error = "no rule decides in any case";
    std::set<int> known;
    for (const auto& [name, processes] : watched.processes) {
      known.insert(processes.begin(), processes.end());
      for (const int process : processes)
        decide_[name].insert(by_process[process].begin(), by_process[process].end());
    }
    // A process that a case's process forked may belong to any case.
    for (const auto& [process, rules] : by_process) {
      if (!known.contains(process)) everywhere_.insert(rules.begin(), rules.end());
    }
  }

  MutantResult try_mutant(const Mutant& mutant) const {
    MutantResult result{mutant, "", "", ""};
    setenv("CUVMM_MUTATION", mutation_text(mutant).c_str(), 1);
    const RuleInfo& rule = info(mutant.rule);
    const auto breaks = [&](const Case& each) {
      return std::find(each.breaks.begin(), each.breaks.end(), rule.id) != each.breaks.end();
    };
    const auto calls = [&](const Case& each) {
      return rule.entry != EntryPoint::kCount &&
             std::any_of(each.program.statements.begin(), each.program.statements.end(),
                         [&](const Statement& s) { return s.function == name(rule.entry); });
    };
    const std::function<bool(const Case&)> stages[] = {
        breaks, [&](const Case& each) { return !breaks(each) && calls(each); },
        [&](const Case& each) { return !breaks(each) && !calls(each); }};
    for (const auto& belongs : stages) {
      std::vector<const Case*> chosen;
      for (const Case& each : cases_) {
        if (belongs(each) && unchanged_.contains(each.name) && decides(rule, each))
          chosen.push_back(&each);
      }
      compare(chosen, result);
      if (!result.noticed_by.empty()) break;
    }
    return result;
  }

  bool decides(const RuleInfo& rule, const Case& where) const {
    const auto found = decide_.find(where.name);
    return found == decide_.end() || found->second.contains(rule.id) ||
           everywhere_.contains(rule.id);
  }

  void compare(const std::vector<const Case*>& chosen, MutantResult& result) const {
    std::string error;
    const Answers mutated = answers(chosen, error);
    for (const Case* each : chosen) {
      const auto found = mutated.find(each->name);
      if (found == mutated.end()) continue;
      const std::vector<std::string>& before = unchanged_.at(each->name);
      const auto& statements = each->program.statements;
      for (std::size_t i = 0; i < found->second.size() && i < statements.size(); ++i) {
        if (found->second[i] == before[i] || allowed(statements[i], found->second[i])) continue;
        result.noticed_by = each->name;
        result.expected = before[i];
        result.answer = found->second[i];
        return;
      }
    }
    if (!error.empty()) {
      result.noticed_by = "every case";
      result.answer = error;
    }
  }

  const std::vector<Case>& cases_;
  const ScoreOptions& options_;
  Answers unchanged_;
  std::map<std::string, std::set<std::string>> decide_;  // rule ids by case
  std::set<std::string> everywhere_;
};

}  // namespace

const char* name(Mutant::Kind kind) { return kind == Mutant::Kind::kRemove ? "remove" : "code"; }

std::string mutation_text(const Mutant& mutant) {
  std::string text = std::string(name(mutant.kind)) + " " + info(mutant.rule).id;
  if (mutant.kind == Mutant::Kind::kCode) text += " " + result_name(mutant.code);
  return text;
}

std::vector<Mutant> all_mutants(const Profile& documented) {
  std::vector<Mutant> mutants;
  for (const RuleInfo& rule : rules()) {
    if (rule.uncheckable || rule.kind == RuleKind::kLeak) continue;
    const Verdict& verdict = documented.verdict(rule.entry, rule.rule);
    const bool accepts = verdict.kind == Verdict::Kind::kAccepts;
    if (!accepts) mutants.push_back({rule.rule, Mutant::Kind::kRemove, CUDA_SUCCESS});
    // A likely mistake: a code that functions with this rule also answer.
    const auto usual = [&](CUresult code) {
      return code != rule.code && (accepts || code != verdict.code);
    };
    CUresult wrong = CUDA_ERROR_INVALID_VALUE;
    if (!usual(wrong)) wrong = CUDA_ERROR_NOT_SUPPORTED;
    mutants.push_back({rule.rule, Mutant::Kind::kCode, wrong});
  }
  return mutants;
}

Score mutation_score(const std::vector<Case>& cases, const std::vector<Mutant>& mutants,
                     const ScoreOptions& options) {
  return Scorer(cases, options).run(mutants);
}

}  // namespace cuvmm::conformance
