// SPDX-License-Identifier: Apache-2.0
// What a shim found of a call, held against the reference's opinion and what streams were busy.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fuzz/flight/reference.h"

namespace cuvmm::fuzz::flight {

struct Compared {
  std::string problem;  ///< empty for none
  bool robbed = false;  ///< memory went from under work, or may have
  bool must_fault = false;
};

/// `before` and `after`: whether streams were busy right before the call and right after it. A shim
/// asked in between: what is busy after was busy for it, and what is idle before was idle.
Compared compare(const Opinion& opinion, const History& history, const std::map<int, bool>& before,
                 const std::map<int, bool>& after, const std::vector<Rule>& found);

}  // namespace cuvmm::fuzz::flight
