// SPDX-License-Identifier: Apache-2.0
// The completion of `cuvmm` for bash.
#include <fmt/core.h>

#include "tools/shell/option_table.h"

namespace cuvmm::tools {

namespace {

std::string bash_joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

// The command that fills COMPREPLY with the values of an option.
std::string bash_offer(const ValueChoices& choices) {
  std::string words = bash_joined(choices.words, " ");
  if (choices.rules) words += "$(cuvmm rules 2> /dev/null | awk '$2 ~ /-/ { print $2 }')";
  std::string how = choices.files ? " -f" : "";
  if (choices.folders) how += " -d";
  if (words.empty() && how.empty()) return "return";
  if (!words.empty()) how += fmt::format(" -W \"{}\"", words);
  return fmt::format("mapfile -t COMPREPLY < <(compgen{} -- \"$current\")", how);
}

// A branch of a `case` for each option of the command that has a value.
std::string bash_values(const CommandEntry& command) {
  std::string out;
  for (const OptionEntry& entry : command.options) {
    if (entry.value.empty()) continue;
    std::string patterns;
    for (const std::string& name : entry.names) {
      patterns += fmt::format("{}'{} {}{}'", patterns.empty() ? "" : " | ", command.name, name,
                              entry.glued ? " =" : "");
    }
    out += fmt::format("    {}) {}; return ;;\n", patterns, bash_offer(choices_of(entry)));
  }
  return out;
}

}  // namespace

std::string bash_completion(const std::vector<CommandEntry>& table) {
  std::string names, behind, options, arguments;
  for (const CommandEntry& command : table) {
    if (!command.parent.empty()) continue;
    if (!command.name.empty()) names += (names.empty() ? "" : " ") + command.name;
    behind += bash_values(command);
    std::string all;
    for (const OptionEntry& entry : command.options)
      all += (all.empty() ? "" : " ") + bash_joined(entry.names, " ");
    options += fmt::format("    '{}') options=\"{}\" ;;\n", command.name, all);
    for (const OptionEntry& entry : command.arguments) {
      arguments += fmt::format("    '{}') {} ;;\n", command.name, bash_offer(choices_of(entry)));
      break;
    }
  }
  return fmt::format(
      R"(# Made by `cuvmm shell-page bash` from what --help shows.
_cuvmm() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} glued='' command='' options='' i
  COMPREPLY=()
  # bash takes '=' for a word of its own.
  if [[ $current == = ]]; then
    current='' glued=' ='
  elif [[ $before == = ]] && ((COMP_CWORD > 1)); then
    before=${{COMP_WORDS[COMP_CWORD - 2]}} glued=' ='
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    # The words behind -- belong to the program.
    if [[ ${{COMP_WORDS[i]}} == -- ]]; then
      if ((i == COMP_CWORD - 1)); then
        mapfile -t COMPREPLY < <(compgen -c -f -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      return
    fi
    [[ $command || ${{COMP_WORDS[i]}} == -* ]] || command=${{COMP_WORDS[i]}}
  done
  if [[ ! $command ]]; then
    mapfile -t COMPREPLY < <(compgen -W "{} --help --version" -- "$current")
    return
  fi
  case "$command $before$glued" in
{}  esac
  # --report=FILE is --report FILE.
  case "$command $before" in
{}  esac
  case $command in
{}  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    return
  fi
  case $command in
{}    *) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current") ;;
  esac
}}
complete -o filenames -F _cuvmm cuvmm
)",
      names, behind, behind, options, arguments);
}

}  // namespace cuvmm::tools
