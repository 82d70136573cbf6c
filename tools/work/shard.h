// SPDX-License-Identifier: Apache-2.0
// Runs one shard, from its first unit to its file. The work can be stopped at any moment; the next
// call goes on from there.
#pragma once

#include <string>

#include "tools/work/result_file.h"
#include "tools/work/runner.h"

namespace cuvmm::tools {

struct ShardOrder {
  Job job;
  Shard shard;
  std::string folder;       ///< the folder of all results
  double time_limit_s = 0;  ///< no unit begins after so many seconds; 0: no limit
};

struct ShardEnd {
  std::string file;       ///< path of the shard's finished file; "": the shard is not finished
  bool already = false;   ///< the shard was finished before this call
  std::size_t done = 0;   ///< units that are done, those of earlier tries included
  std::size_t units = 0;  ///< of the shard
  std::size_t findings = 0;
  std::string error;  ///< the reason why the shard cannot go on; units that are done stay
};

/// Runs the units of the shard that are not done yet. Each unit's result is written at once. If
/// another process of the node runs the shard, the call returns an error.
ShardEnd run_shard(const WorkTarget& target, const ShardOrder& order, const Stamp& stamp);

}  // namespace cuvmm::tools
