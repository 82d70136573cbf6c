// SPDX-License-Identifier: Apache-2.0
// Writes a program text as one C file that needs only <cuda.h>, for bug reports.
#pragma once

#include <string>

#include "program/program.h"

namespace cuvmm::program {

struct CSource {
  std::string text;
  std::string
      error;  ///< a line per statement that cannot be written as C, "LINE: why"; empty on success
};

/// The file makes the calls in their order, prints each result, and exits with 1 if a result
/// differs from the result that the call's comment expects. The first line names `origin`. Programs
/// of several processes or threads, and batched copies, have no C form here.
CSource write_c(const Program& program, const std::string& origin);

}  // namespace cuvmm::program
