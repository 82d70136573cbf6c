// SPDX-License-Identifier: Apache-2.0
// Errors of the command line. Each says what was expected.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

namespace cuvmm::tools {

/// Thrown for a command line with a mistake that CLI11 does not find, such as options that exclude
/// each other. main() prints the message and exits with kExitUsage.
struct UsageError {
  std::string message;
};

/// Accepts one of `choices`. The error for other words lists them and names the nearest.
CLI::Validator one_of(std::vector<std::string> choices);

/// Accepts the name of a file that can be opened for reading.
CLI::Validator readable_file();

/// Accepts the path of a libcuda, or a name as the loader knows it ("libcuda.so.1"), which it
/// replaces by the path.
CLI::Validator driver_library();

/// Accepts a whole number in [low, high].
CLI::Validator whole_number(long low, long high);

/// Accepts a number of seconds in [low, 1e9]. `low` is 0 or a little more.
CLI::Validator seconds(double low);

/// Names of the options that `app` knows, e.g. "--report".
std::vector<std::string> option_names(const CLI::App& app);

/// The error message about arguments that `app` did not expect; "" if there are none.
std::string unexpected(const CLI::App& app);

/// Adds `--emulate[=PROFILE]`. CLI11 has no option whose value is optional and must follow '=', so
/// this option is a flag with a value. HelpFormatter shows it as users type it.
void add_emulate(CLI::App& app, std::string& profile, const std::string& help);

/// Throws UsageError, which names the option, unless `profile` is "" or can be loaded. Returns a
/// built-in name unchanged; for a file, returns its absolute path.
std::string resolve_profile(const std::string& profile, const char* option = "--emulate");

/// Names of all built-in profiles: drivers, then platforms.
std::vector<std::string> all_profiles();

/// The built-in profile whose name is `word` or begins with it, in upper or lower case; "": none.
std::string profile_meant(const std::string& word);

/// Throws UsageError if there are unexpected arguments. Subcommands that allow extra arguments call
/// it, so that the message can name the option that the user meant.
void refuse_unexpected(const CLI::App& app);

}  // namespace cuvmm::tools
