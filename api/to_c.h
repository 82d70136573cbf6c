// A program as one stand-alone C file on <cuda.h>, for a bug report to somebody without cuvmm.
#pragma once

#include <string>

#include "api/program.h"

namespace cuvmm {

struct CSource {
  std::string text;   ///< compiles with `cc FILE.c -lcuda`; prints a line per statement
  std::string error;  ///< why the program cannot be written as C; then there is no text
};

/// The C program makes the same calls in the same order, prints what each answers, and returns 1
/// when an expectation fails. `origin` is named in its first line. A program of several processes
/// or threads is refused, and so is one that check_program() finds fault with.
CSource to_c(const Program& program, const std::string& origin);

}  // namespace cuvmm
