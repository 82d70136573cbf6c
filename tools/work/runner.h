// SPDX-License-Identifier: Apache-2.0
// Does units of a job on one libcuda.
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

/// Who the machine is, and whether it is fit. Starts no driver in this process.
struct Fitness {
  Stamp stamp;
  std::string unfit;  ///< why nothing can be done here; "" it is fit
};
Fitness examine(const WorkTarget& target, const std::string& node, const std::string& image);

/// What a machine is called where nobody named it: "node-" and a hash of the host's name.
std::string pseudonym();

/// Does these units, a few at a time. `done` gets each few, and stops it by false. Returns "" or
/// why no more could be done, which is no finding: the machine or the installation is to blame.
using Done = std::function<bool(const std::vector<UnitResult>&)>;
std::string run_units(const WorkTarget& target, const Job& job,
                      const std::vector<std::string>& units, const Done& done);

}  // namespace cuvmm::tools
