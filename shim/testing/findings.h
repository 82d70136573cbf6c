// SPDX-License-Identifier: Apache-2.0
// A sink that stores the findings of a session, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "shim/findings/finding.h"

namespace cuvmm::shim {

class Findings : public FindingSink {
 public:
  void take(Finding finding) override { all.push_back(std::move(finding)); }
  /// The ids of the findings' rules, in order.
  std::vector<std::string> rules() const {
    std::vector<std::string> ids;
    for (const Finding& f : all) ids.emplace_back(info(f.violation.rule).id);
    return ids;
  }

  std::vector<Finding> all;
};

}  // namespace cuvmm::shim
