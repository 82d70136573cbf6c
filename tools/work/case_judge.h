// SPDX-License-Identifier: Apache-2.0
// Judges the answers to conformance cases. Status and finding follow from the answers alone, so
// that the receiver of a result can judge it again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conformance/record/recording.h"
#include "conformance/suite/case.h"
#include "rulebook/profile/profile.h"
#include "tools/work/result_file.h"

namespace cuvmm::tools {

class CaseJudge {
 public:
  /// Knows the cases of the job.
  explicit CaseJudge(const Job& job);

  /// The cases with these names, in the suite's order. A name that the suite lacks is ignored.
  std::vector<conformance::Case> cases(const std::vector<std::string>& names) const;

  /// Makes results of a driver's answers. `known`: the driver's recorded profile. The result of a
  /// skipped case has the reason.
  std::vector<UnitResult> judge(const conformance::Recording& recording,
                                const std::vector<std::string>& names,
                                const std::optional<Profile>& known) const;

  /// How the status or the finding of a result contradicts its answers; "" if none does.
  std::string contradiction(const ShardResult& result) const;

 private:
  std::map<std::string, conformance::Case> cases_;
};

}  // namespace cuvmm::tools
