// SPDX-License-Identifier: Apache-2.0
// Runs cases in several worker processes at a time, and continues if any of them dies.
#pragma once

#include <vector>

#include "api/driver/driver.h"
#include "conformance/record/record_options.h"
#include "conformance/record/recording.h"
#include "conformance/suite/case.h"

namespace cuvmm::conformance {

/// Runs each case once, at most `jobs` at a time, and puts the answers into `recording`. If a
/// worker dies or is silent for too long, that is the outcome of its current case, and another
/// worker takes over the rest. (RunOptions::timeout bounds one call only, not the forks and waits
/// around it.)
void run_in_workers(const Driver& driver, const std::vector<const Case*>& cases, int jobs,
                    const RecordOptions& options, Recording& recording);

}  // namespace cuvmm::conformance
