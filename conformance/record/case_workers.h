// SPDX-License-Identifier: Apache-2.0
// Runs cases in several worker processes at a time, and survives the death of any of them.
#pragma once

#include <vector>

#include "api/driver/driver.h"
#include "conformance/record/record_options.h"
#include "conformance/record/recording.h"
#include "conformance/suite/case.h"

namespace cuvmm::conformance {

/// Runs each case once, at most `jobs` at a time, and puts the answers into `recording`. A worker
/// that dies or says nothing for long (RunOptions::timeout bounds one call, not what forks and
/// reaps around it) is an outcome of the case that it was at; another takes over the rest.
void run_in_workers(const Driver& driver, const std::vector<const Case*>& cases, int jobs,
                    const RecordOptions& options, Recording& recording);

}  // namespace cuvmm::conformance
