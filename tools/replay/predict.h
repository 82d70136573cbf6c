// SPDX-License-Identifier: Apache-2.0
// The work of `cuvmm predict`: runs a recorded program on emulated machines, and finds the calls
// that fail there although they succeeded on the machine of the recording.
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
  int devices = 0;        ///< devices of each machine; 0: as many as the program names
  double timeout_s = 20;  ///< seconds per statement
  bool json = false;
};

/// The result of the program on one machine.
struct Prediction {
  std::string profile;
  std::string about;  ///< a description of the machine
  /// The first statement that fails there, but succeeded in the recording; nothing: none does.
  std::optional<std::size_t> statement;
  std::string observed;  ///< the answer of that statement
  std::string reason;    ///< the reason, from the profile; may be ""
};

/// The number of devices that the program needs: the highest device number in it, plus 1.
int devices_of(const program::Program& program);

/// Judges a run of the program on the profile's machine. `outcomes`: one for each statement.
Prediction judge(const program::Program& program, const std::vector<program::Outcome>& outcomes,
                 const Profile& profile);

/// Prints a line per machine. Returns the exit code: 0; kExitDifference if a call would fail;
/// kExitUsage if the file cannot be read or has mistakes.
int predict(const PredictOptions& options);

}  // namespace cuvmm::tools
