// SPDX-License-Identifier: Apache-2.0
// One shard, from its first unit to its file: can be stopped at any moment, and goes on from there.
#pragma once

#include <string>

#include "tools/work/result_file.h"
#include "tools/work/runner.h"

namespace cuvmm::tools {

struct ShardOrder {
  Job job;
  Shard shard;
  std::string folder;       ///< of all results
  double time_limit_s = 0;  ///< no unit begins after that; 0 without
};

struct ShardEnd {
  std::string file;       ///< what it is now, or was already; "" it is not finished
  bool already = false;   ///< it was finished before
  std::size_t done = 0;   ///< units in all, earlier tries counted
  std::size_t units = 0;  ///< of the shard
  std::size_t findings = 0;
  std::string error;  ///< why it cannot go on; what is done stays
};

/// Does what is missing of the shard. Each unit is written down when it is done. Two processes
/// never do the same shard of one node: the second one gets an error.
ShardEnd run_shard(const WorkTarget& target, const ShardOrder& order, const Stamp& stamp);

}  // namespace cuvmm::tools
