// SPDX-License-Identifier: Apache-2.0
// A hint for a program that asks for cuvmm's Python package and ends at once, because its Python
// does not have the package: a build from a clone has the command, and no package.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace cuvmm::tools {

/// The hint; "" if the words do not ask for the package: `-m cuvmm...`, or `--cuvmm` of pytest.
inline std::string python_hint(const std::vector<std::string>& command) {
  static constexpr const char* kInstall =
      "if Python found no module cuvmm: install the wheel for this Python (docs/install/README.md)";
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string_view word = command[i];
    const std::string_view next =
        i + 1 < command.size() ? std::string_view(command[i + 1]) : std::string_view();
    if (word == "-m" && next == "cuvmm.first_finding") {
      return std::string(kInstall) + "; in a clone, the program is examples/first_finding.py";
    }
    if (word == "-m" && (next == "cuvmm" || next.starts_with("cuvmm."))) {
      return std::string(kInstall) + "; in a clone, PYTHONPATH=python has it";
    }
    // The plugin sets this variable, and starts pytest anew under cuvmm: then the package is there.
    if (std::getenv("CUVMM_PYTEST")) continue;
    if (word == "--cuvmm" || word.starts_with("--cuvmm=")) {
      return std::string(kInstall) +
             "; in a clone, PYTHONPATH=python PYTEST_PLUGINS=cuvmm.pytest_plugin has the plugin";
    }
  }
  return {};
}

}  // namespace cuvmm::tools
