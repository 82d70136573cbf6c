// SPDX-License-Identifier: Apache-2.0
// Judges a run with a failure by comparing it with the plain runs.
#pragma once

#include "tools/fail/outcome.h"
#include "tools/fail/trial.h"

namespace cuvmm::tools {

/// The plain runs, joined. A result that one of them has is no effect of a failure.
struct Baseline {
  int exit_code = 0;
  int signal = 0;             ///< a crash of a plain run
  double seconds = 0;         ///< of the longest plain run
  bool output_known = false;  ///< all plain runs wrote the same text to stdout
  std::string output;
  std::map<std::string, Tally> findings;
  std::map<std::string, Tally> leaks;
  std::map<std::string, std::uint64_t> kinds;  ///< objects that they held at their end, by kind

  void add(const Outcome& plain);
  int runs = 0;
};

Judgement judge(const Baseline& baseline, const Outcome& outcome);

/// Whether all lines of `plain` are in `text`, in their order; more lines may be between them.
bool says_as_much(const std::string& text, const std::string& plain);

}  // namespace cuvmm::tools
