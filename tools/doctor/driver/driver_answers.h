// SPDX-License-Identifier: Apache-2.0
// What the children that asked a driver said.
#pragma once

#include <string>

#include "tools/doctor/children.h"

namespace cuvmm::doctor {

/// The facts of each are in driver_trials.h.
struct DriverAnswers {
  Ended facts, mapping, dma_buf, fd_export, fd_import, fabric_export, fabric_import;
  /// The limits that were raised for a second try, and whether the driver starts with them;
  /// "" where there was none.
  std::string raised;
  bool raised_works = false;
};

}  // namespace cuvmm::doctor
