// SPDX-License-Identifier: Apache-2.0
// The lines of a program's source in PTX text (.file and .loc).
#pragma once

#include <string>
#include <string_view>

namespace cuvmm::kernels {

struct SourceLine {
  std::string file;
  int line = 0;  ///< 0: nothing is known
};

/// The source of a line of the text, which begins with line 1. Reads the whole text.
SourceLine source_of(std::string_view text, int ptx_line);

}  // namespace cuvmm::kernels
