// SPDX-License-Identifier: Apache-2.0
// Errors of the command line that say what was expected.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

namespace cuvmm::tools {

/// Thrown for a command line whose options do not go together. main() prints it and exits with
/// kExitUsage.
struct UsageError {
  std::string message;
};

/// Accepts one of `choices`; else lists them and names the nearest.
CLI::Validator one_of(std::vector<std::string> choices);

/// A file that can be opened for reading.
CLI::Validator readable_file();

/// A whole number in [low, high].
CLI::Validator whole_number(long low, long high);

/// A finite number of seconds, at least `low` (0 or a little more) and at most a billion.
CLI::Validator seconds(double low);

/// Names of the options that `app` knows, e.g. "--report".
std::vector<std::string> option_names(const CLI::App& app);

/// What to say of arguments that `app` did not expect; "" when there are none.
std::string unexpected(const CLI::App& app);

/// Adds `--emulate[=PROFILE]`. CLI11 has no option with an optional value that must be glued to it,
/// so this is a flag with a value; HelpFormatter shows it as it is typed.
void add_emulate(CLI::App& app, std::string& profile, const std::string& help);

/// Throws UsageError, naming the option, unless `profile` is "" or can be loaded. Gives a built-in
/// name back as it is and the absolute path of a file.
std::string resolve_profile(const std::string& profile, const char* option = "--emulate");

/// Names of all built-in profiles: drivers, then platforms.
std::vector<std::string> all_profiles();

/// The built-in profile that `word` names or that begins with it, whatever its case; "": none.
std::string profile_meant(const std::string& word);

/// Throws UsageError when there are unexpected arguments. For subcommands that allow extras so that
/// the message can name the option that was meant.
void refuse_unexpected(const CLI::App& app);

}  // namespace cuvmm::tools
