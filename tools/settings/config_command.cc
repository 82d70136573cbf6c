// SPDX-License-Identifier: Apache-2.0
// cuvmm config [COMMAND]: prints the settings that are in force, and their sources.
#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "tools/base/json.h"
#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/command_line/usage.h"
#include "tools/settings/settings.h"

namespace cuvmm::tools {

namespace {

constexpr const char* kConfigExamples =
    "Examples:\n"
    "  cuvmm config             all that is set, and where\n"
    "  cuvmm config run --all   also the options of cuvmm run that are not set\n";

struct ConfigOptions {
  std::string command;
  bool all = false, json = false;
};

struct HeldSetting {
  std::string command, key;
  Json value;            // null: the default
  std::string source;    // "environment", "file" or "default"
  std::string variable;  // the variable that sets the value, or could set it
  const FileSetting* in_file = nullptr;
};

class HeldSettings {
 public:
  HeldSettings(const CLI::App& app, const SettingsFile& file, const ConfigOptions& options)
      : file_(file), options_(options) {
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      if (!command->get_group().empty()) add(*command, command->get_name());
    }
  }
  const std::vector<HeldSetting>& all() const { return holdings_; }

 private:
  void add(const CLI::App& command, const std::string& name) {
    for (const CLI::App* inner : command.get_subcommands([](const CLI::App*) { return true; })) {
      add(*inner, name + " " + inner->get_name());
    }
    const bool asked = options_.command.empty() || name == options_.command ||
                       name.starts_with(options_.command + " ");
    if (!asked) return;
    for (const std::string& key : keys_of(command)) add_key(name, key);
  }

  void add_key(const std::string& name, const std::string& key) {
    HeldSetting holding{name, key, nullptr, "default", variable_of(name, key), nullptr};
    for (const FileSetting& setting : file_.settings) {
      if (setting.command == name && setting.key == key) holding.in_file = &setting;
    }
    const std::string variable = variable_value(name, key);
    // The variable of "emulate" is CUVMM_DRIVER. A driver that it names is no value of --emulate,
    // but turns --emulate off.
    const bool overruled = key == "emulate" && !holding.in_file;
    if (!variable.empty() && !overruled) {
      holding.value = key == "emulate" ? Json(false) : Json(variable);
      holding.source = "environment";
    } else if (holding.in_file) {
      holding.value = holding.in_file->value;
      holding.source = "file";
    } else if (!options_.all) {
      return;
    }
    holdings_.push_back(std::move(holding));
  }

  const SettingsFile& file_;
  const ConfigOptions& options_;
  std::vector<HeldSetting> holdings_;
};

std::string setting_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string whence(const HeldSetting& holding, const SettingsFile& file) {
  if (holding.source == "file") return file.place(*holding.in_file);
  if (holding.source == "default") {
    return holding.variable.empty() ? "default" : "default (or " + holding.variable + ")";
  }
  std::string text = "from " + holding.variable;
  if (holding.in_file) {
    text += ", not " + setting_text(holding.in_file->value) + " of " + file.place(*holding.in_file);
  }
  return text;
}

void print_settings(const std::vector<HeldSetting>& holdings, const SettingsFile& file) {
  print_output("{}\n", file.path.empty() ? "There is no cuvmm.toml here or in a folder above."
                                         : "The file of settings is " + file.path);
  std::string command;
  for (const HeldSetting& holding : holdings) {
    if (holding.command != command) {
      command = holding.command;
      std::string table = command;
      for (char& c : table) {
        if (c == ' ') c = '.';
      }
      print_output("\n[{}]\n", table);
    }
    const std::string set = holding.source == "default"
                                ? "# " + holding.key
                                : holding.key + " = " + setting_text(holding.value);
    print_output("{:<40} # {}\n", set, whence(holding, file));
  }
  if (holdings.empty()) print_output("Nothing is set: the defaults hold.\n");
}

void print_settings_json(const std::vector<HeldSetting>& holdings, const SettingsFile& file) {
  Json settings = Json::array();
  for (const HeldSetting& holding : holdings) {
    Json one = {{"command", holding.command},
                {"key", holding.key},
                {"value", holding.value},
                {"source", holding.source}};
    if (!holding.variable.empty()) one["variable"] = holding.variable;
    if (holding.in_file) {
      one["file"] = {{"value", holding.in_file->value},
                     {"line", holding.in_file->line},
                     {"column", holding.in_file->column}};
    }
    settings.push_back(std::move(one));
  }
  const Json document = {{"schema", 1},
                         {"file", file.path.empty() ? Json(nullptr) : Json(file.path)},
                         {"settings", std::move(settings)}};
  print_output("{}\n", document.dump(1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

void add_config(CLI::App& app, CommandLine&) {
  CLI::App* command =
      app.add_subcommand("config", "Show which settings hold, and where they come from");
  auto options = std::make_shared<ConfigOptions>();
  command->add_option("COMMAND", options->command, "Only those of this command, such as run")
      ->type_name("");
  command->add_flag("--all", options->all, "Also the options that are not set");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(kConfigExamples);
  command->allow_extras();
  command->callback([&app, command, options] {
    refuse_unexpected(*command);
    if (!options->command.empty()) {
      std::vector<std::string> known;
      for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
        if (!sub->get_group().empty()) known.push_back(sub->get_name());
      }
      CLI::Validator is_known = one_of(known);
      if (const std::string problem = is_known(options->command); !problem.empty()) {
        throw UsageError{problem};
      }
    }
    const std::string path = settings_path(command->get_option("--config")->as<std::string>());
    SettingsFile file;
    std::string problem;
    try {
      if (!path.empty()) file = load_settings(path, app);
    } catch (const UsageError& error) {
      // The other settings show whether the mistake matters.
      file.path = path;
      problem = error.message + "; nothing of this file is shown";
    }
    const HeldSettings holdings(app, file, *options);
    if (options->json) {
      print_settings_json(holdings.all(), file);
    } else {
      print_settings(holdings.all(), file);
    }
    if (!problem.empty()) throw UsageError{problem};
  });
}

}  // namespace cuvmm::tools
