// SPDX-License-Identifier: Apache-2.0
// What `cuvmm replay` does, after its command line is understood.
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
  std::string driver;  ///< path; "" for the loader's choice, or the emulator where there is none
  bool emulate = false;
  std::string profile;    ///< of the emulator, "" for its default
  double timeout_s = 20;  ///< per statement
  bool json = false;
  bool allow_multicast = false;  ///< let multicast reach a driver that is not our emulator
};

/// Runs the program, prints a line per statement; returns the exit code: 0, kExitDifference, or
/// kExitUsage when the file cannot be read or holds mistakes (each is printed as FILE:LINE:COLUMN).
int replay(const ReplayOptions& options);

/// Whether a statement went as it should: as its comment says; without one, it must have been run
/// and its process must have lived on (but for `exit()`).
bool went_well(const Statement& statement, const Outcome& outcome);

}  // namespace cuvmm::tools
