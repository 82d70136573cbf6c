// SPDX-License-Identifier: Apache-2.0
// Runs cases on a driver and writes down the answers.
#pragma once

#include <string>
#include <vector>

#include "api/driver/driver.h"
#include "conformance/record/record_options.h"
#include "conformance/record/recording.h"
#include "conformance/suite/case.h"

namespace cuvmm::conformance {

struct RecordResult {
  Recording recording;
  std::string error;  ///< why nothing was recorded
};

/// Runs the cases on the libcuda at `driver_path`. This process must not have initialised CUDA.
RecordResult record_cases(const std::string& driver_path, const std::vector<Case>& cases,
                          const RecordOptions& options = {});

}  // namespace cuvmm::conformance
