// SPDX-License-Identifier: Apache-2.0
// After a run: which processes' last calls are worth a look.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/report/tree/process_tree.h"

namespace cuvmm::tools {

struct KeptRing {
  std::string file;
  std::string sentence;  ///< "process 71 (python3) was ended by signal 9 (SIGKILL) in ..."
};

/// Looks at the files that the processes left in `folder`. Those of processes that ended well, or
/// whose end nobody knows, are removed, unless `all` stay; the others are listed, by process.
std::vector<KeptRing> keep_rings(const std::string& folder, const TreeResult& tree, bool all);

}  // namespace cuvmm::tools
