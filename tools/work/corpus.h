// SPDX-License-Identifier: Apache-2.0
// The programs that the searches of a fleet kept, as one corpus.
#pragma once

#include <set>
#include <string>

#include "tools/work/target.h"

namespace cuvmm::tools {

struct CorpusEnd {
  std::size_t programs = 0;  ///< in the folder
  std::string note;          ///< why they are not as few as can be; "" they are
  std::string error;
};

/// Writes the few of the programs that show, on the emulator, all that all of them show. Where that
/// cannot be found out here, writes all. The folder is made, and must be empty.
CorpusEnd write_corpus(const std::set<std::string>& programs, const WorkTarget& target,
                       const std::string& folder);

}  // namespace cuvmm::tools
