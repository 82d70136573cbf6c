// SPDX-License-Identifier: Apache-2.0
// Writes the programs that the searches of a fleet kept into one corpus.
#pragma once

#include <set>
#include <string>

#include "tools/work/target.h"

namespace cuvmm::tools {

struct CorpusEnd {
  std::size_t programs = 0;  ///< number of files in the folder
  std::string note;          ///< the reason why the corpus could not be reduced; "": it was reduced
  std::string error;
};

/// Reduces the programs to a few that show all that the whole set shows on the emulator, and writes
/// these. If they cannot be reduced here, writes all of them. Makes the folder, which must be
/// empty.
CorpusEnd write_corpus(const std::set<std::string>& programs, const WorkTarget& target,
                       const std::string& folder);

}  // namespace cuvmm::tools
