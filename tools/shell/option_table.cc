// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/option_table.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>

#include "tools/command_line/usage.h"

namespace cuvmm::tools {

namespace {

OptionEntry option_entry_of(const CLI::Option& option) {
  OptionEntry entry;
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  entry.glued = option.get_name(false, true).find("{}") != std::string::npos;
  if (entry.glued) {
    entry.value = "PROFILE";  // add_emulate() adds the only such option
  } else if (entry.names.empty()) {
    entry.value = option.get_name(true);
  } else if (option.get_items_expected_max() > 0) {
    entry.value = option.get_type_name();
  }
  entry.help = option.get_description();
  return entry;
}

CommandEntry command_entry_of(const CLI::App& app, const std::string& parent) {
  CommandEntry command;
  command.name = parent.empty() ? "" : app.get_name();
  command.summary = app.get_description();
  // The usage line of cuvmm itself is written here, because app.help() would give that of the
  // running command.
  if (parent.empty()) {
    command.usage = app.get_name() + " COMMAND [OPTIONS]";
  } else {
    const std::string help = app.help(parent);
    constexpr std::string_view kUsage = "Usage: ";
    const std::size_t start = help.find(kUsage) + kUsage.size();
    command.usage = help.substr(start, help.find('\n', start) - start);
  }
  for (const CLI::Option* option : app.get_options()) {
    OptionEntry entry = option_entry_of(*option);
    (entry.names.empty() ? command.arguments : command.options).push_back(std::move(entry));
  }
  command.footer = app.get_footer();
  return command;
}

// Whether the word stands for a value, as FILE does; "full" and "USR1" are typed literally.
bool is_placeholder(const std::string& word) {
  return std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c); });
}

}  // namespace

std::vector<CommandEntry> option_table(const CLI::App& app) {
  const auto all = [](const CLI::App*) { return true; };
  std::vector<CommandEntry> table = {command_entry_of(app, "")};
  for (const CLI::App* sub : app.get_subcommands(all)) {
    if (sub->get_group().empty()) continue;
    table.push_back(command_entry_of(*sub, app.get_name()));
    for (const CLI::App* inner : sub->get_subcommands(all)) {
      table.push_back(command_entry_of(*inner, app.get_name() + " " + sub->get_name()));
      table.back().parent = sub->get_name();
    }
  }
  return table;
}

ValueChoices choices_of(const OptionEntry& option) {
  ValueChoices choices;
  for (std::size_t start = 0; start <= option.value.size();) {
    const std::size_t end = std::min(option.value.find('|', start), option.value.size());
    std::string word = option.value.substr(start, end - start);
    start = end + 1;
    word = word.substr(0, word.find('['));
    if (word == "PROFILE") {
      for (std::string& name : all_profiles()) choices.words.push_back(std::move(name));
      choices.files = true;
    } else if (word == "FILE" || word == "PATH" || word == "FILES") {
      choices.files = true;
    } else if (word == "DIR" || word == "FOLDER") {
      choices.folders = true;
    } else if (word == "RULE") {
      choices.rules = true;
    } else if (!word.empty() && !is_placeholder(word)) {
      choices.words.push_back(word);
    }
  }
  return choices;
}

}  // namespace cuvmm::tools
