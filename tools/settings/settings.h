// SPDX-License-Identifier: Apache-2.0
// The settings of a command. A setting comes from the command line, else from the environment, else
// from the file, else from the default.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "tools/settings/settings_file.h"

namespace cuvmm::tools {

/// The environment variable for `--key` of `command`; "" if there is none. `command` is such as
/// "run" or "work run".
std::string variable_of(const std::string& command, const std::string& key);

/// The value of that variable; "" if it is not set.
std::string variable_value(const std::string& command, const std::string& key);

/// The path of the settings file: `given` (the value of --config), else CUVMM_CONFIG, else the
/// result of find_settings() for the working folder; "": none. Names on stderr a file that is not
/// used, because another user owns it.
std::string settings_path(const std::string& given);

/// Gives every command of `app` the option --config. Before a command runs, the settings of the
/// file set the options that neither the command line nor the environment sets.
void use_settings(CLI::App& app);

}  // namespace cuvmm::tools
