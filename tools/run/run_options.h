// SPDX-License-Identifier: Apache-2.0
// The options of `cuvmm run`, for other commands that run a program.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "tools/command_line/commands.h"
#include "tools/run/run_settings.h"

namespace cuvmm::tools {

/// Adds all of them. Both objects outlive the parsing.
void add_run_options(CLI::App& app, RunSettings& options, std::string& emulate);

/// After the parsing: what follows from the options and from the program behind them. Throws
/// UsageError.
void take_run_options(RunSettings& options, const CLI::App& app, const std::string& emulate,
                      const CommandLine& line);

}  // namespace cuvmm::tools
