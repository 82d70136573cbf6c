// SPDX-License-Identifier: Apache-2.0
// Reads a folder with results of `cuvmm work`, and sorts them by GPU and driver.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/matrix/matrix.h"

namespace cuvmm::tools {

/// All results of one GPU model and driver.
struct DriverResults {
  std::string gpu, driver;  ///< for an emulator: the name of its profile
  bool emulated = false;
  MatrixColumn column;                                  ///< of the conformance cases
  std::set<int> devices;                                ///< numbers of GPUs of the machines
  std::set<std::string> nodes;                          ///< pseudonyms
  std::map<std::string, std::set<std::string>> doctor;  ///< the verdicts on each check
  std::map<std::string, std::vector<double>> bench_ns;  ///< "call/cuMemMap/live:0/bare"
};

struct ResultFolder {
  std::vector<DriverResults> drivers;  ///< by GPU, then by version, older ones first
  std::string error;                   ///< "FILE: why it is no result"; "": none
};

/// Reads every *.json below the folder.
ResultFolder read_result_folder(const std::string& path);
/// Whether version `one` is older. Compares the numbers: "580.95" is older than "580.159.04".
bool older(const std::string& one, const std::string& other);

}  // namespace cuvmm::tools
