// SPDX-License-Identifier: Apache-2.0
// Compares the shim's findings for a call with the reference's opinion and the busy streams.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fuzz/flight/reference.h"

namespace cuvmm::fuzz::flight {

struct Compared {
  std::string problem;  ///< empty for none
  bool robbed = false;  ///< the call took memory from work, or may have
  bool must_fault = false;
};

/// `before` and `after` say whether streams were busy right before and right after the call. The
/// shim queried the driver in between: a stream that is busy after was busy for the shim, and a
/// stream that was idle before was idle.
Compared compare(const Opinion& opinion, const History& history, const std::map<int, bool>& before,
                 const std::map<int, bool>& after, const std::vector<Rule>& found);

}  // namespace cuvmm::fuzz::flight
