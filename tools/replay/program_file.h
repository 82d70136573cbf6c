// SPDX-License-Identifier: Apache-2.0
// Reads a program text from a file. Mistakes become messages for the user.
#pragma once

#include <string>

#include "program/program.h"

namespace cuvmm::tools {

using program::Program;

struct ProgramFile {
  Program program;
  std::string error;  ///< a line per mistake, "FILE:LINE:COLUMN: message"; empty on success
};

/// `path` may be "-" for standard input.
ProgramFile read_program(const std::string& path);

}  // namespace cuvmm::tools
