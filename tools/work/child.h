// SPDX-License-Identifier: Apache-2.0
// Runs a program to its end and returns its output.
#pragma once

#include <string>
#include <vector>

namespace cuvmm::tools {

struct ChildEnd {
  int code = 0;        ///< exit code, or 128 + signal; 127 if the program could not be started
  std::string output;  ///< stdout and stderr, the last 1 MiB
};

/// A sentence for the user if the program does not exist, because an installation may lack it; ""
/// if it exists.
std::string missing_program(const std::string& path);

/// `arguments[0]`: path of the program. `settings`: NAME=VALUE; they override this process's
/// environment.
ChildEnd run_child(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& settings);

}  // namespace cuvmm::tools
