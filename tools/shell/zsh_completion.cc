// SPDX-License-Identifier: Apache-2.0
// The completion of `cuvmm` for zsh.
#include <fmt/core.h>

#include "tools/shell/option_table.h"

namespace cuvmm::tools {

namespace {

// Escapes text for single quotes, and the '[', ']' and ':' that have a meaning for _arguments.
std::string zsh_quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      out += std::string("\\") + c;
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out;
}

std::string zsh_action(const ValueChoices& choices) {
  std::string words;
  for (const std::string& word : choices.words) words += (words.empty() ? "" : " ") + word;
  if (choices.rules) return "_cuvmm_rules";
  if (choices.files && !words.empty())
    return fmt::format(" _alternative \"words\\:word\\:({})\" \"files\\:file\\:_files\"", words);
  if (choices.folders && !words.empty())
    return fmt::format(" _alternative \"words\\:word\\:({})\" \"folders\\:folder\\:_files -/\"",
                       words);
  if (choices.files) return "_files";
  if (choices.folders) return "_files -/";
  return words.empty() ? " " : "(" + words + ")";
}

std::string zsh_option(const OptionEntry& entry, const std::string& name) {
  // '*': the user may give the option several times.
  std::string out = fmt::format("'*{}{}[{}]", name,
                                entry.value.empty() ? ""
                                : entry.glued       ? "=-"
                                                    : "=",
                                zsh_quoted(entry.help));
  if (!entry.value.empty()) {
    out += fmt::format("{}{}:{}", entry.glued ? "::" : ":", zsh_quoted(entry.value),
                       zsh_action(choices_of(entry)));
  }
  return out + "'";
}

}  // namespace

std::string zsh_completion(const std::vector<CommandEntry>& table) {
  std::string names, cases;
  for (const CommandEntry& command : table) {
    if (command.name.empty() || !command.parent.empty()) continue;
    names += fmt::format("    '{}:{}'\n", command.name, zsh_quoted(command.summary));
    cases += fmt::format("    {})\n      _arguments -s", command.name);
    for (const OptionEntry& entry : command.options) {
      for (const std::string& name : entry.names)
        cases += " \\\n        " + zsh_option(entry, name);
    }
    for (const OptionEntry& entry : command.arguments) {
      cases += fmt::format(" \\\n        '*:{}:{}'", zsh_quoted(entry.value),
                           zsh_action(choices_of(entry)));
    }
    if (command.name == "run") cases += " \\\n        '(-)*::program:_normal'";
    cases += "\n      ;;\n";
  }
  return fmt::format(
      R"zsh(#compdef cuvmm
# Made by `cuvmm shell-page zsh` from what --help shows.
_cuvmm_rules() {{
  local -a rules
  rules=(${{(f)"$(cuvmm rules 2> /dev/null | awk '$2 ~ /-/ {{ print $2 }}')"}})
  compadd -a rules
}}

_cuvmm() {{
  local curcontext=$curcontext state line
  local -a commands
  commands=(
{}  )
  _arguments -C '(- *)--help[Print this help message and exit]' \
    '(- *)--version[Display program version information and exit]' \
    '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
      case $words[1] in
{}      esac
      ;;
  esac
}}

_cuvmm "$@"
)zsh",
      names, cases);
}

}  // namespace cuvmm::tools
