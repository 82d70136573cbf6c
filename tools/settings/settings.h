// SPDX-License-Identifier: Apache-2.0
// The settings that hold: what the command line says, else the environment, else the file, else the
// default.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "tools/settings/settings_file.h"

namespace cuvmm::tools {

/// The variable that stands for `--key` of `command`; "" when there is none. `command` is "run", or
/// "work run".
std::string variable_of(const std::string& command, const std::string& key);

/// Its value, of the variable of `key`; "" when it is not set.
std::string variable_value(const std::string& command, const std::string& key);

/// Which file holds: `given` (of --config), else CUVMM_CONFIG, else what find_settings finds from
/// the working folder. "" for none. A file that is passed over is told of on stderr.
std::string settings_path(const std::string& given);

/// Gives every command of `app` the option --config, and lets the file's settings fill in, before
/// the command does its work, what its command line and the environment leave open.
void use_settings(CLI::App& app);

}  // namespace cuvmm::tools
