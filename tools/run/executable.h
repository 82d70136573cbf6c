// SPDX-License-Identifier: Apache-2.0
// The program that `cuvmm run` starts: its path, and whether LD_PRELOAD has an effect on it.
#pragma once

#include <string>

namespace cuvmm::tools {

inline constexpr int kExitNotExecutable = 126;
inline constexpr int kExitNotFound = 127;

struct FoundProgram {
  std::string path;   ///< the path for execve()
  int exit_code = 0;  ///< 0, or what a shell would answer: kExitNotFound, kExitNotExecutable
  std::string error;  ///< one sentence; empty on success
};

/// Finds `name` as a shell does: as a path when it holds a slash, else in the folders of `path`
/// (the value of $PATH).
FoundProgram find_program(const std::string& name, const std::string& path);

struct Reach {
  /// Empty when LD_PRELOAD works; else one clause: "it is statically linked ..."
  std::string obstacle;
  bool address_sanitizer = false;  ///< built with AddressSanitizer
};

/// Looks at the file; if it is a script, at its interpreter (also with `#!/usr/bin/env python3`).
Reach inspect_reach(const std::string& program, const std::string& path);

}  // namespace cuvmm::tools
