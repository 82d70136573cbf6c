// SPDX-License-Identifier: Apache-2.0
// What `cuvmm predict` does: a program runs on emulated machines, to see which of its calls would
// fail on them that succeeded where it was recorded.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/driver/driver.h"
#include "program/outcome.h"
#include "program/program.h"
#include "program/run_options.h"
#include "rulebook/profile/profile.h"

namespace cuvmm::tools {

struct PredictOptions {
  std::string file;  ///< program text; "-": standard input
  std::vector<std::string>
      profiles;           ///< built-in names or TOML files; empty: all that are built in
  int devices = 0;        ///< that the machines have; 0: as many as the program names
  double timeout_s = 20;  ///< per statement
  bool json = false;
};

/// What one machine does to the program.
struct Prediction {
  std::string profile;
  std::string about;  ///< what machine it is
  /// The first statement that fails there and did not where it was recorded; nothing: none does.
  std::optional<std::size_t> statement;
  std::string observed;  ///< what it answers
  std::string reason;    ///< why, as the profile says it; may be ""
};

/// How many devices the program needs: one more than the highest number that it names.
int devices_of(const program::Program& program);

/// Judges how the program went on the profile's machine. `outcomes` are those of its statements.
Prediction judge(const program::Program& program, const std::vector<program::Outcome>& outcomes,
                 const Profile& profile);

/// Prints a line per machine; returns the exit code: 0, kExitDifference where a call would fail, or
/// kExitUsage when the file cannot be read or holds mistakes.
int predict(const PredictOptions& options);

}  // namespace cuvmm::tools
