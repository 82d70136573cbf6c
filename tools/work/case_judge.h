// SPDX-License-Identifier: Apache-2.0
// What the answers to conformance cases mean. Status and finding follow from the answers alone, so
// that a result can be judged again by whoever gets it.
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
  /// The cases of the job.
  explicit CaseJudge(const Job& job);

  /// Those with these names, in the suite's order; a name that the suite does not have is left out.
  std::vector<conformance::Case> cases(const std::vector<std::string>& names) const;

  /// What a driver answered, as results; `known` is its recorded profile. Results of cases that
  /// were skipped say why.
  std::vector<UnitResult> judge(const conformance::Recording& recording,
                                const std::vector<std::string>& names,
                                const std::optional<Profile>& known) const;

  /// What is wrong with the status or the finding of these results; "" when both follow.
  std::string contradiction(const ShardResult& result) const;

 private:
  std::map<std::string, conformance::Case> cases_;
};

}  // namespace cuvmm::tools
