// SPDX-License-Identifier: Apache-2.0
// The processes of a rack of emulated hosts: their environment, their output, their end.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cuvmm::tools {

struct Rack {
  int hosts = 2;        ///< at least 1
  int ranks = 8;        ///< processes on each host, at least 1
  std::string outage;   ///< for CUVMM_OUTAGE; "" for none
  double grace_s = 10;  ///< how long other ranks may go on once one of them has failed
  std::vector<std::string> command;
};

/// The variables of a rank, as launchers such as torchrun set them. `port` is free on this machine.
std::map<std::string, std::string> rank_environment(const Rack& rack, int rank, int port);

/// Starts the ranks, writes each line of their output behind the rank's name, and waits until all
/// have ended. Returns the exit code of the rank that failed first, 128 plus the number of its
/// signal, or 0.
int run_ranks(const Rack& rack);

}  // namespace cuvmm::tools
