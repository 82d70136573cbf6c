// SPDX-License-Identifier: Apache-2.0
// What work is done on, and who gets its results.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/work/result_file.h"

namespace cuvmm::tools {

/// The libcuda, and what belongs to it. The emulator's settings are in the environment.
struct WorkTarget {
  std::string driver;  ///< path, or a name for the loader
  bool emulate = false;
  std::string shim;      ///< what bench measures; "" nothing
  std::string emulator;  ///< what recordings are compared with; "" there is none
  std::string programs;  ///< folder of cuvmm-fuzz and others: where cuvmm itself is
};

/// Gets the results of a few units, and stops the work by false.
using Done = std::function<bool(const std::vector<UnitResult>&)>;

}  // namespace cuvmm::tools
