// SPDX-License-Identifier: Apache-2.0
// The subcommands. Each add_...() adds a command to the command line; the command's action sets
// CommandLine::exit_code.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace cuvmm::tools {

inline constexpr int kExitUsage = 2;        ///< the command line has a mistake
inline constexpr int kExitDifference = 1;   ///< replay: an expectation did not hold
inline constexpr int kExitUnchecked = 122;  ///< run with --error-exitcode: a part was not checked
inline constexpr int kExitLeaksUnknown =
    123;  ///< run with --error-exitcode: a process ended, and its leaks could not be looked for
inline constexpr int kExitFailure =
    125;  ///< run: cuvmm itself failed; timeout(1) and env(1) use this code, too

/// The exit code of the process, and the words behind `--` on a `run` line.
struct CommandLine {
  int exit_code = 0;
  int signal = 0;          ///< the signal that ends the process instead of exit_code; 0: none
  bool separator = false;  ///< the line has a `--`
  std::vector<std::string> after_separator;
};

void add_run(CLI::App& app, CommandLine& line);
void add_fail(CLI::App& app, CommandLine& line);
void add_hostile(CLI::App& app, CommandLine& line);
void add_rack(CLI::App& app, CommandLine& line);
void add_explain(CLI::App& app, CommandLine& line);
void add_explain_crash(CLI::App& app, CommandLine& line);
void add_rules(CLI::App& app, CommandLine& line);
void add_replay(CLI::App& app, CommandLine& line);
void add_predict(CLI::App& app, CommandLine& line);
void add_to_c(CLI::App& app, CommandLine& line);
void add_matrix(CLI::App& app, CommandLine& line);
void add_config(CLI::App& app, CommandLine& line);
void add_conform(CLI::App& app, CommandLine& line);
void add_top(CLI::App& app, CommandLine& line);
void add_map(CLI::App& app, CommandLine& line);
void add_leaks(CLI::App& app, CommandLine& line);
void add_checkpoint(CLI::App& app, CommandLine& line);
void add_memory(CLI::App& app, CommandLine& line);
void add_report(CLI::App& app, CommandLine& line);
void add_suppress(CLI::App& app, CommandLine& line);
void add_view(CLI::App& app, CommandLine& line);
void add_doctor(CLI::App& app, CommandLine& line);
void add_work(CLI::App& app, CommandLine& line);
void add_shell_page(CLI::App& app, CommandLine& line);

}  // namespace cuvmm::tools
