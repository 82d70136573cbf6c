// SPDX-License-Identifier: Apache-2.0
// A program that is run to its end, for what it prints.
#pragma once

#include <string>
#include <vector>

namespace cuvmm::tools {

struct ChildEnd {
  int code = 0;        ///< exit code, or 128 + signal; 127 where it could not be started
  std::string output;  ///< stdout and stderr, the last 1 MiB
};

/// Why there is no such program; "" there is. An installation may lack it.
std::string missing_program(const std::string& path);

/// `arguments[0]` is the path. `settings` are NAME=VALUE, put before this process's environment.
ChildEnd run_child(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& settings);

}  // namespace cuvmm::tools
