// SPDX-License-Identifier: Apache-2.0
// Selects, after a run, the processes whose last calls the user should look at.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/report/tree/process_tree.h"

namespace cuvmm::tools {

struct LastCallsFile {
  std::string file;
  std::string sentence;  ///< "process 71 (python3) was ended by signal 9 (SIGKILL) in ..."
};

/// Reads the files that the processes left in `folder`. Removes the files of processes that ended
/// well or whose end is unknown, unless `all` is set. Returns the other files, by process.
std::vector<LastCallsFile> keep_last_calls(const std::string& folder, const TreeResult& tree,
                                           bool all);

}  // namespace cuvmm::tools
