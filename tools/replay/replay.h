// SPDX-License-Identifier: Apache-2.0
// The work of `cuvmm replay`, after its command line is parsed.
#pragma once

#include <string>
#include <vector>

#include "program/outcome.h"
#include "program/program.h"

namespace cuvmm::tools {

using program::Outcome;
using program::Statement;

struct ReplayOptions {
  std::string file;    ///< "-": standard input
  std::string driver;  ///< path; "": the loader's choice, or the emulator if there is none
  bool emulate = false;
  std::string profile;    ///< of the emulator, "" for its default
  double timeout_s = 20;  ///< seconds per statement
  bool json = false;
  bool allow_multicast = false;  ///< also make multicast calls if the driver is not the emulator
};

/// Runs the program and prints a line per statement. Returns the exit code: 0; kExitDifference if
/// an answer is not the expected one; kExitUsage if the file cannot be read or has mistakes, each
/// of which is printed as FILE:LINE:COLUMN.
int replay(const ReplayOptions& options);

/// Whether a statement's outcome is the one in its comment. A statement without a comment only has
/// to run, and its process must live on (except after `exit()`).
bool went_well(const Statement& statement, const Outcome& outcome);

}  // namespace cuvmm::tools
