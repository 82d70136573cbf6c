// SPDX-License-Identifier: Apache-2.0
#include "conformance/run/conform.h"

#include <fnmatch.h>

#include <algorithm>
#include <sstream>

#include "api/symbols/find_entry.h"
#include "program/run_program.h"
#include "rulebook/catalogue/rule.h"

namespace cuvmm::conformance {

using program::call_text;
using program::Outcome;
using program::parse_outcome;
using program::Statement;

namespace {

constexpr const char* kNames[] = {"pass",    "deviation", "not-supported", "crash",
                                  "timeout", "fail",      "waived"};
static_assert(std::size(kNames) == static_cast<std::size_t>(CaseStatus::kCount));

std::vector<Rule> rules_of(const Statement& statement) {
  std::vector<Rule> found;
  for (const std::string& id : statement.breaks) {
    if (const auto rule = find_rule(id)) found.push_back(*rule);
  }
  return found;
}

bool is_advice(Rule rule) { return info(rule).kind == RuleKind::kAdvice; }

void add(std::vector<CUresult>& codes, CUresult code) {
  if (std::find(codes.begin(), codes.end(), code) == codes.end()) codes.push_back(code);
}

// The answers that the documentation allows.
std::vector<CUresult> allowed(const Statement& statement) {
  const std::vector<Rule> broken = rules_of(statement);
  std::vector<CUresult> codes;
  if (statement.expected || broken.empty()) add(codes, expected_result(statement));
  const bool only_advice = !broken.empty() && std::all_of(broken.begin(), broken.end(), is_advice);
  for (Rule rule : broken) {
    const RuleInfo& row = info(rule);
    // A call that breaks only advice is legal, but may fail with a code that the documentation
    // lists.
    if (only_advice && row.basis != CodeBasis::kDocumented && row.basis != CodeBasis::kListed)
      continue;
    if (row.code == CUDA_SUCCESS) continue;
    // A statement that breaks two rules may answer either code, because the documentation gives no
    // order.
    if (only_advice || (!statement.expected && !is_advice(rule))) add(codes, row.code);
  }
  if (only_advice) add(codes, CUDA_SUCCESS);
  return codes;
}

std::string expected_text(const Statement& statement) {
  std::string text;
  for (CUresult code : allowed(statement)) {
    text += (text.empty() ? "" : " or ") + result_name(code);
    if (!statement.expected_value.empty() && code == expected_result(statement))
      text += " =" + statement.expected_value;
  }
  return text;
}

bool fits(const Statement& statement, const Outcome& outcome) {
  if (outcome.status != Outcome::Status::kDone) return false;
  const auto codes = allowed(statement);
  if (std::find(codes.begin(), codes.end(), outcome.result) == codes.end()) return false;
  const bool value_counts =
      !statement.expected_value.empty() && outcome.result == expected_result(statement);
  return !value_counts || outcome.value == statement.expected_value;
}

// Whether the driver's recorded profile predicts the outcome.
bool foreseen(const Profile* profile, const Statement& statement, const Outcome& outcome) {
  if (!profile) return false;
  const EntryPoint entry = find_entry(statement.function).value_or(EntryPoint::kCount);
  Violations violations;
  bool crashes = false;
  for (Rule rule : rules_of(statement)) {
    violations.push_back({rule, true, "", {}});
    crashes |= profile->verdict(entry, rule).kind == Verdict::Kind::kCrashes;
  }
  if (violations.empty()) return false;
  if (outcome.status == Outcome::Status::kSignal) return crashes;
  return outcome.status == Outcome::Status::kDone &&
         outcome.result == profile->answer(entry, violations);
}

CaseStatus status_of(const Statement& statement, const Outcome& outcome) {
  switch (outcome.status) {
    case Outcome::Status::kSignal:
    case Outcome::Status::kExited:
      return CaseStatus::kCrash;
    case Outcome::Status::kTimeout:
      return CaseStatus::kTimeout;
    case Outcome::Status::kNotRun:
      return CaseStatus::kFail;
    case Outcome::Status::kDone:
      break;
  }
  const bool wrong_value = outcome.result == expected_result(statement) && statement.expected;
  return statement.breaks.empty() || wrong_value ? CaseStatus::kFail : CaseStatus::kDeviation;
}

// The statement with the greatest gravity gives the case its status; of several, the first.
int gravity(CaseStatus status) {
  switch (status) {
    case CaseStatus::kCrash:
    case CaseStatus::kTimeout:
      return 3;
    case CaseStatus::kFail:
      return 2;
    case CaseStatus::kDeviation:
      return 1;
    default:
      return 0;
  }
}

CaseResult judge(const Case& test_case, const std::vector<std::string>& answers,
                 const ConformInput& input) {
  CaseResult result;
  result.test_case = &test_case;
  const auto& statements = test_case.program.statements;
  bool broken_before = false;
  bool all_foreseen = true;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Statement& statement = statements[i];
    const std::string observed = i < answers.size() ? answers[i] : "not-run: no answer";
    const Outcome outcome = parse_outcome(observed);
    const bool stale = outcome.result != CUDA_SUCCESS && !outcome.value.empty() &&
                       statement.expected_value.empty() && test_case.name.starts_with("stale/");
    const bool good = fits(statement, outcome) && !stale;
    result.statements.push_back(
        {call_text(statement), expected_text(statement), observed, statement.breaks, good});
    broken_before |= !statement.breaks.empty();
    if (good) continue;
    // A failure although the code is right, because the refused call wrote to its out-parameter.
    const CaseStatus status = stale ? CaseStatus::kFail : status_of(statement, outcome);
    const std::string fact =
        input.facts ? input.facts->reason(test_case.name, i, observed) : std::string();
    const bool foreseen_here = foreseen(input.known, statement, outcome) || !fact.empty();
    all_foreseen &= foreseen_here;
    if (gravity(status) > gravity(result.status)) {
      const auto& row = result.statements.back();
      result.status = status;
      result.known = foreseen_here;
      result.legal = !broken_before;
      result.reason = row.call + " answered " + row.observed + ", expected " + row.expected;
      if (!fact.empty()) result.reason += ": " + fact;
    } else if (status == result.status && !foreseen_here) {
      result.known = false;
    }
  }
  // A known answer of the driver is a deviation, not a failure.
  if (result.status == CaseStatus::kFail && all_foreseen) result.status = CaseStatus::kDeviation;
  return result;
}

}  // namespace

const char* name(CaseStatus status) { return kNames[static_cast<std::size_t>(status)]; }

bool matches_pattern(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), FNM_NOESCAPE) == 0;
}

std::string CaseWaivers::parse(const std::string& text, const std::string& file) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line);
    std::string pattern, reason;
    if (!(words >> pattern) || pattern[0] == '#') continue;
    std::getline(words >> std::ws, reason);
    if (reason.empty()) {
      return file + ":" + std::to_string(number) + ":" + std::to_string(line.size() + 1) +
             ": expected the reason behind " + pattern;
    }
    rows_.emplace_back(pattern, reason);
  }
  return {};
}

std::string CaseWaivers::reason(const std::string& name) const {
  for (const auto& [pattern, reason] : rows_) {
    if (matches_pattern(pattern, name)) return reason;
  }
  return {};
}

namespace {

// The cases of a family mean something only if its legal call succeeds.
class LegalCalls {
 public:
  // Changes the result of a family's case if the legal call failed. The legal case comes first.
  void apply(const Case& each, CaseResult& result) {
    if (!each.file.empty()) return;
    const std::string group = each.name.substr(0, each.name.find('/'));
    const bool legal = each.name == group + "/legal";
    if (legal && result.status != CaseStatus::kPass) {
      const std::string& answer = result.statements.back().observed;
      failed_[group] = {result.reason,
                        optional(each) && answer.starts_with("CUDA_ERROR_NOT_SUPPORTED")};
    }
    const auto found = failed_.find(group);
    if (found == failed_.end()) return;
    const Failed& failed = found->second;
    if (failed.lacks) {
      result.status = CaseStatus::kNotSupported;
      result.reason = "needs what this device does not support: " + failed.reason;
      result.known = false;
    } else if (!legal) {
      result.status = CaseStatus::kFail;
      result.reason = "shows nothing, for the legal call does not succeed: " + failed.reason;
    }
  }

 private:
  struct Failed {
    std::string reason;
    bool lacks = false;  ///< the device cannot do this, and the family allows that
  };

  static bool optional(const Case& each) {
    return std::any_of(each.needs.begin(), each.needs.end(),
                       [](const Need& need) { return need.what == Need::What::kSupport; });
  }

  std::map<std::string, Failed> failed_;
};

}  // namespace

std::vector<CaseResult> judge_cases(const ConformInput& input) {
  std::vector<CaseResult> results;
  LegalCalls legal_calls;
  for (const Case& each : *input.cases) {
    const Recording& recording = *input.recording;
    if (const auto skipped = recording.skipped.find(each.name);
        skipped != recording.skipped.end()) {
      CaseResult result;
      result.test_case = &each;
      result.status = CaseStatus::kNotSupported;
      result.reason = skipped->second;
      results.push_back(std::move(result));
      continue;
    }
    const auto found = recording.cases.find(each.name);
    if (found == recording.cases.end()) continue;
    CaseResult result = judge(each, found->second, input);
    legal_calls.apply(each, result);
    if (input.waivers) result.waiver = input.waivers->reason(each.name);
    if (!result.waiver.empty()) {
      result.unexpected_pass = result.status == CaseStatus::kPass;
      if (!result.unexpected_pass) result.status = CaseStatus::kWaived;
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::array<int, static_cast<std::size_t>(CaseStatus::kCount)> count(
    const std::vector<CaseResult>& results) {
  std::array<int, static_cast<std::size_t>(CaseStatus::kCount)> counts{};
  for (const CaseResult& result : results) ++counts[static_cast<std::size_t>(result.status)];
  return counts;
}

}  // namespace cuvmm::conformance
