// SPDX-License-Identifier: Apache-2.0
// What the command line knows, as --help shows it: for the manual page and the shells' completions.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace cuvmm::tools {

/// An option, or an argument without a name.
struct OptionEntry {
  std::vector<std::string> names;  ///< "-h", "--help"; none for an argument
  std::string value;               ///< what is typed behind it: "FILE", "full|no"; "" for a flag
  bool glued = false;              ///< the value is optional, and follows '='
  std::string help;
};

struct CommandEntry {
  std::string name;     ///< "" for cuvmm itself
  std::string parent;   ///< of a command of a command: the latter
  std::string summary;  ///< its first line in --help
  std::string usage;    ///< "cuvmm run [OPTIONS] -- PROGRAM [ARGUMENTS]"
  std::vector<OptionEntry> options;
  std::vector<OptionEntry> arguments;
  std::string footer;
};

/// cuvmm itself, then its commands in the order of --help, each before its own commands. Hidden
/// ones are left out.
std::vector<CommandEntry> option_table(const CLI::App& app);

/// What may be typed as a value: words, and what kinds of names the shell should offer.
struct ValueChoices {
  std::vector<std::string> words;
  bool files = false;
  bool folders = false;
  bool rules = false;  ///< ids of rules
};

ValueChoices choices_of(const OptionEntry& option);

/// The pages, as text. `version` is cuvmm's.
std::string man_page(const std::vector<CommandEntry>& table, const std::string& version);
/// (The completions leave the commands of commands out.)
std::string bash_completion(const std::vector<CommandEntry>& table);
std::string zsh_completion(const std::vector<CommandEntry>& table);
std::string fish_completion(const std::vector<CommandEntry>& table);

}  // namespace cuvmm::tools
