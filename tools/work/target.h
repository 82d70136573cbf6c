// SPDX-License-Identifier: Apache-2.0
// The libcuda that units of work run on, and the receiver of their results.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/work/result_file.h"

namespace cuvmm::tools {

/// A libcuda, and the files that the work needs beside it. The emulator reads its settings from the
/// environment.
struct WorkTarget {
  std::string driver;  ///< path, or a name for the loader
  bool emulate = false;
  std::string shim;      ///< path of the shim that bench measures; "": none
  std::string emulator;  ///< path of the emulator that recordings are compared with; "": none
  std::string programs;  ///< folder of cuvmm, cuvmm-fuzz and other programs
};

/// Receives the results of a few units. Returns false to stop the work.
using Done = std::function<bool(const std::vector<UnitResult>&)>;

}  // namespace cuvmm::tools
