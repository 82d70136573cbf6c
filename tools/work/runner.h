// SPDX-License-Identifier: Apache-2.0
// Does units of a job on one libcuda.
#pragma once

#include <string>
#include <vector>

#include "tools/work/result_file.h"
#include "tools/work/target.h"

namespace cuvmm::tools {

/// Who the machine is, and whether it is fit. Starts no driver in this process.
struct Fitness {
  Stamp stamp;
  std::string unfit;  ///< why nothing can be done here; "" it is fit
};
Fitness examine(const WorkTarget& target, const std::string& node, const std::string& image);

/// What a machine is called where nobody named it: "node-" and a hash of the host's name.
std::string pseudonym();

/// Does these units, a few at a time. Returns "" or why no more could be done, which is no finding:
/// the machine or the installation is to blame.
std::string run_units(const WorkTarget& target, const Job& job,
                      const std::vector<std::string>& units, const Done& done);

}  // namespace cuvmm::tools
