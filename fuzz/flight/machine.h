// SPDX-License-Identifier: Apache-2.0
// Makes the calls of one program under a shim, and compares the findings with the reference.
#pragma once

#include <string>
#include <vector>

#include "api/driver/driver.h"
#include "fuzz/flight/reference.h"
#include "program/program.h"

namespace cuvmm::fuzz::flight {

/// The result of a program.
struct Result {
  std::string problem;  ///< the first disagreement: "line 7, cuMemUnmap: ..."; empty for none
  unsigned calls = 0;
  std::vector<Rule> found = {};       ///< rules that the shim found, each once
  std::vector<Rule> of_kernels = {};  ///< those of `found` about the launch of a kernel
  /// The run stopped, because a call took memory from work and the rest could do anything.
  bool stopped = false;
  bool faulted = false;                 ///< the work then failed
  std::vector<std::string> notes = {};  ///< for each statement the answer and the findings
};

/// Runs the program in this process, which must not have used the driver before and cannot use it
/// again. `path` is where the driver was loaded from, for a second process.
Result run(const LoadedDriver& driver, const std::string& path, const program::Program& program);

}  // namespace cuvmm::fuzz::flight
