// SPDX-License-Identifier: Apache-2.0
// The environment in which `cuvmm run` starts the program.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tools/installation/layout.h"
#include "tools/run/run_settings.h"

namespace cuvmm::tools {

using Environment = std::map<std::string, std::string>;

/// This process's environment, from environ.
Environment current_environment();

/// `current` with the shim first in LD_PRELOAD (libraries that must precede the shim stay before
/// it), the links folder first in LD_LIBRARY_PATH, and the CUVMM_ variables of the options. With
/// the emulator, its libcudart comes behind the shim, and its folder behind that of the links.
/// Variables of an outer cuvmm that contradict the options are removed. Each process writes its
/// report into `report_folder`.
Environment child_environment(Environment current, const RunSettings& options, const Layout& layout,
                              const std::string& report_folder);

/// The variable that sets the same thing as an option of `cuvmm run` ("leak-check" ->
/// "CUVMM_LEAK_CHECK"); "" if no variable does.
std::string variable_of_run(std::string_view option);

}  // namespace cuvmm::tools
