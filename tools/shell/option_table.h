// SPDX-License-Identifier: Apache-2.0
// A table of all commands and options, as --help shows them. The manual page and the shells'
// completions are made from it.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace cuvmm::tools {

/// An option, or an argument without a name.
struct OptionEntry {
  std::vector<std::string> names;  ///< "-h", "--help"; none for an argument
  std::string value;               ///< the value behind it: "FILE", "full|no"; "" for a flag
  bool glued = false;              ///< the value is optional, and follows '='
  std::string help;
};

struct CommandEntry {
  std::string name;     ///< "" for cuvmm itself
  std::string parent;   ///< "work" for `work plan`; "" for a command that has no parent
  std::string summary;  ///< its first line in --help
  std::string usage;    ///< "cuvmm run [OPTIONS] -- PROGRAM [ARGUMENTS]"
  std::vector<OptionEntry> options;
  std::vector<OptionEntry> arguments;
  std::string footer;
};

/// The entries of cuvmm itself and of its commands, in the order of --help. Subcommands follow
/// their command. Hidden commands are left out.
std::vector<CommandEntry> option_table(const CLI::App& app);

/// The possible values of an option: words, and kinds of names that the shell should offer.
struct ValueChoices {
  std::vector<std::string> words;
  bool files = false;
  bool folders = false;
  bool rules = false;  ///< ids of rules
};

ValueChoices choices_of(const OptionEntry& option);

/// The text of the manual page. `version`: version of cuvmm.
std::string man_page(const std::vector<CommandEntry>& table, const std::string& version);
/// The texts of the completions, which have no subcommands of commands such as `work plan`.
std::string bash_completion(const std::vector<CommandEntry>& table);
std::string zsh_completion(const std::vector<CommandEntry>& table);
std::string fish_completion(const std::vector<CommandEntry>& table);

}  // namespace cuvmm::tools
