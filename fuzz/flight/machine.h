// SPDX-License-Identifier: Apache-2.0
// Makes the calls of one program under a shim, and holds what is found against the reference.
#pragma once

#include <string>
#include <vector>

#include "api/driver/driver.h"
#include "fuzz/flight/reference.h"
#include "program/program.h"

namespace cuvmm::fuzz::flight {

/// What came of a program.
struct Result {
  std::string problem;  ///< what disagreed: "line 7, cuMemUnmap: ..."; empty for nothing
  unsigned calls = 0;
  std::vector<Rule> found = {};       ///< by the shim, each once
  std::vector<Rule> of_kernels = {};  ///< those of them that are about the launch of a kernel
  /// Memory was taken from work: what follows may do anything, and was not made.
  bool stopped = false;
  bool faulted = false;                 ///< and the work then failed
  std::vector<std::string> notes = {};  ///< by statement: what it answered, and what was found
};

/// Runs it in this process, which must not have used the driver before, and cannot use it again.
/// `path` is where the driver was loaded from, for a second process.
Result run(const LoadedDriver& driver, const std::string& path, const program::Program& program);

}  // namespace cuvmm::fuzz::flight
