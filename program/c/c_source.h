// SPDX-License-Identifier: Apache-2.0
// A program text as one C file on <cuda.h> that stands alone: for bug reports.
#pragma once

#include <string>

#include "program/program.h"

namespace cuvmm::program {

struct CSource {
  std::string text;
  std::string
      error;  ///< a line per statement that cannot be written as C, "LINE: why"; empty on success
};

/// The file makes the calls in their order, prints each result and exits with 1 when one is not
/// what its comment expects. `origin` is named in its first line. Programs of several processes or
/// threads, and the batched copies, have no C form here.
CSource write_c(const Program& program, const std::string& origin);

}  // namespace cuvmm::program
