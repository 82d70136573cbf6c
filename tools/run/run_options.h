// SPDX-License-Identifier: Apache-2.0
// The options of `cuvmm run`, for other commands that run a program.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "tools/command_line/commands.h"
#include "tools/run/run_settings.h"

namespace cuvmm::tools {

/// Adds all options to `app`. `options` and `emulate` must outlive the parsing, because the parser
/// writes the values into them.
void add_run_options(CLI::App& app, RunSettings& options, std::string& emulate);

/// Called after the parsing: completes `options` by the values that follow from the options and
/// from the program behind them. Throws UsageError.
void take_run_options(RunSettings& options, const CLI::App& app, const std::string& emulate,
                      const CommandLine& line);

}  // namespace cuvmm::tools
