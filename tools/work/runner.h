// SPDX-License-Identifier: Apache-2.0
// Runs units of a job on one libcuda.
#pragma once

#include <string>
#include <vector>

#include "tools/work/result_file.h"
#include "tools/work/target.h"

namespace cuvmm::tools {

/// The machine's stamp, and whether work can be done on it. examine() starts no driver in this
/// process.
struct Fitness {
  Stamp stamp;
  std::string unfit;  ///< the reason why no work can be done here; "": it can
};
Fitness examine(const WorkTarget& target, const std::string& node, const std::string& image);

/// The name of a machine that the user did not name: "node-" and a hash of the host's name.
std::string pseudonym();

/// Runs the units, a few at a time. Returns "", or the reason why the work stopped. Such a reason
/// is a fault of the machine or the installation, and no finding.
std::string run_units(const WorkTarget& target, const Job& job,
                      const std::vector<std::string>& units, const Done& done);

}  // namespace cuvmm::tools
