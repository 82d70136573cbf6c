// SPDX-License-Identifier: Apache-2.0
#include "tools/work/case_judge.h"

#include <utility>

#include "conformance/run/conform.h"
#include "conformance/run/conform_report.h"
#include "conformance/suite/suite.h"

namespace cuvmm::tools {

using conformance::Case;
using conformance::CaseResult;
using conformance::Recording;

namespace {

constexpr const char* kSkipped = "not-supported";

// The profile of the driver. In a recording of the emulator, driver_version is the profile's name.
std::optional<Profile> profile_of(const Recording& recording) {
  if (!recording.emulated) return conformance::known_profile(recording);
  ProfileResult loaded = load_profile(recording.driver_version);
  if (!loaded.error.empty()) return std::nullopt;
  return std::move(loaded.profile);
}

}  // namespace

CaseJudge::CaseJudge(const Job& job) {
  for (Case& each : conformance::load_suite("", job.kind == WorkKind::kPairs).cases) {
    std::string name = each.name;
    cases_.emplace(std::move(name), std::move(each));
  }
}

std::vector<Case> CaseJudge::cases(const std::vector<std::string>& names) const {
  std::vector<Case> chosen;
  for (const std::string& name : names) {
    if (const auto found = cases_.find(name); found != cases_.end())
      chosen.push_back(found->second);
  }
  return chosen;
}

std::vector<UnitResult> CaseJudge::judge(const Recording& recording,
                                         const std::vector<std::string>& names,
                                         const std::optional<Profile>& known) const {
  const std::vector<Case> chosen = cases(names);
  const auto facts = conformance::known_facts(known ? known->driver : "");
  const conformance::CaseWaivers none;
  std::vector<UnitResult> results;
  for (const CaseResult& each :
       conformance::judge_cases({&chosen, &recording, known ? &*known : nullptr, &none, &facts})) {
    UnitResult result{each.test_case->name, name(each.status), "", {}, ""};
    if (conformance::fails_run(each, false))
      result.finding = each.reason.empty() ? result.status : each.reason;
    if (const auto answers = recording.cases.find(result.unit); answers != recording.cases.end()) {
      result.answers = answers->second;
    } else {
      result.answers = {std::string(kSkipped) + ": " + each.reason};
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::string CaseJudge::contradiction(const ShardResult& result) const {
  Recording recording;
  recording.driver_version = result.stamp.driver;
  recording.gpu = result.stamp.gpu;
  recording.cuda_version = result.stamp.cuda;
  recording.devices = result.stamp.devices;
  recording.emulated = result.stamp.emulated;
  std::vector<std::string> names;
  for (const UnitResult& each : result.results) {
    if (!cases_.contains(each.unit)) return each.unit + ": the suite has no such case";
    names.push_back(each.unit);
    if (each.status == kSkipped) {
      recording.skipped[each.unit] = each.finding;
    } else {
      recording.cases[each.unit] = each.answers;
    }
  }
  std::map<std::string, UnitResult> again;
  for (UnitResult& each : judge(recording, names, profile_of(recording)))
    again[each.unit] = std::move(each);
  for (const UnitResult& each : result.results) {
    const UnitResult& right = again[each.unit];
    if (each.status == kSkipped && right.status == kSkipped) continue;
    if (right.status != each.status || right.finding != each.finding) {
      return each.unit + ": its answers mean '" + right.status + "', not '" + each.status + "'";
    }
  }
  return "";
}

}  // namespace cuvmm::tools
