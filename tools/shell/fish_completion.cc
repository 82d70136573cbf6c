// SPDX-License-Identifier: Apache-2.0
// The completion of `cuvmm` for fish.
#include <fmt/core.h>

#include "tools/shell/option_table.h"

namespace cuvmm::tools {

namespace {

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

std::string fish_value(const ValueChoices& choices) {
  std::string words;
  for (const std::string& word : choices.words) words += (words.empty() ? "" : " ") + word;
  if (choices.rules) {
    words += "(cuvmm rules 2> /dev/null | string match -rg '^\\S+ +(\\S+-\\S+)')";
  }
  if (choices.folders)
    words += std::string(words.empty() ? "" : " ") + "(__fish_complete_directories)";
  std::string out = choices.files ? " -F" : " -f";
  if (!words.empty()) out += fmt::format(" -a \"{}\"", words);
  return out;
}

}  // namespace

std::string fish_completion(const std::vector<CommandEntry>& table) {
  std::string page =
      "# Made by `cuvmm shell-page fish` from what --help shows.\n"
      "complete -c cuvmm -n __fish_use_subcommand -f -l help -d 'Print this help message and "
      "exit'\n"
      "complete -c cuvmm -n __fish_use_subcommand -f -l version -d 'Display program version "
      "information and exit'\n";
  for (const CommandEntry& command : table) {
    if (command.name.empty() || !command.parent.empty()) continue;
    page += fmt::format("complete -c cuvmm -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                        fish_quoted(command.summary));
    const std::string seen =
        fmt::format("complete -c cuvmm -n '__fish_seen_subcommand_from {}'", command.name);
    for (const OptionEntry& entry : command.options) {
      page += seen;
      for (const std::string& name : entry.names) {
        page += name[1] == '-' ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!entry.value.empty()) page += (entry.glued ? "" : " -r") + fish_value(choices_of(entry));
      page += " -d " + fish_quoted(entry.help) + "\n";
    }
    for (const OptionEntry& entry : command.arguments)
      page += seen + fish_value(choices_of(entry)) + "\n";
  }
  return page;
}

}  // namespace cuvmm::tools
