// SPDX-License-Identifier: Apache-2.0
// The results of `cuvmm conform` as text.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "conformance/run/conform.h"

namespace cuvmm::tools {

struct ResultsTextOptions {
  bool verbose = false;  ///< print the cases that passed or were not run, and the known answers
  /// The GPU whose recording explains the known answers; "" if no recording is of this driver.
  std::string known_gpu;
  /// By case: the text that the driver wrote to stderr.
  const std::map<std::string, std::string>* stderr_texts = nullptr;
};

/// A line for each answer that no recording of this driver has, the gravest first; then a table of
/// all results by area, and how many cases could not run, by reason.
std::string results_text(const std::vector<conformance::CaseResult>& results,
                         const conformance::Recording& recording,
                         const ResultsTextOptions& options);

}  // namespace cuvmm::tools
