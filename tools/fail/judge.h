// SPDX-License-Identifier: Apache-2.0
// What a run with a failure shows, beside the plain run.
#pragma once

#include "tools/fail/outcome.h"
#include "tools/fail/trial.h"

namespace cuvmm::tools {

/// The plain runs, joined: what one of them has is not the failure's.
struct Baseline {
  int exit_code = 0;
  int signal = 0;             ///< that ends one of its processes anyway
  double seconds = 0;         ///< the longest
  bool output_known = false;  ///< they all wrote the same
  std::string output;
  std::map<std::string, Tally> findings;
  std::map<std::string, Tally> leaks;
  std::map<std::string, std::uint64_t> kinds;  ///< what they had at their end, by kind

  void add(const Outcome& plain);
  int runs = 0;
};

Judgement judge(const Baseline& baseline, const Outcome& outcome);

/// Whether all lines of `plain` are in `text`, in their order; more lines may be between them.
bool says_as_much(const std::string& text, const std::string& plain);

}  // namespace cuvmm::tools
