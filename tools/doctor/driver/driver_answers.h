// SPDX-License-Identifier: Apache-2.0
// The answers of the child processes that called a driver.
#pragma once

#include <string>

#include "tools/doctor/children.h"

namespace cuvmm::doctor {

/// driver_trials.h lists the facts of each child.
struct DriverAnswers {
  Ended facts, mapping, dma_buf, fd_export, fd_import, fabric_export, fabric_import;
  /// The shell commands that raise the limits as a second try did; "" if there was no second try.
  /// `raised_works`: the driver started with the raised limits.
  std::string raised;
  bool raised_works = false;
};

}  // namespace cuvmm::doctor
