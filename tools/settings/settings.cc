// SPDX-License-Identifier: Apache-2.0
#include "tools/settings/settings.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "tools/base/standard_streams.h"
#include "tools/command_line/usage.h"
#include "tools/run/child_environment.h"

namespace cuvmm::tools {

namespace {

constexpr std::string_view kRunsPrograms[] = {"run", "fail", "hostile"};
constexpr std::string_view kLive[] = {"top", "map", "leaks", "checkpoint"};

// These commands use no settings, so they work in spite of a mistake in the settings file.
constexpr std::string_view kReaders[] = {"explain", "explain-crash", "rules"};

std::string path_of(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  const bool inner = parent && parent->get_parent();
  return inner ? parent->get_name() + " " + command.get_name() : command.get_name();
}

// Whether the command line has --driver and the file sets "emulate", or the other way round. The
// command line decides.
bool overruled_by_rival(const CLI::App& command, const std::string& key) {
  const char* const rival = key == "driver" ? "--emulate" : key == "emulate" ? "--driver" : nullptr;
  return rival && option_of_key(command, rival + 2) && command.count(rival) > 0;
}

void fill_in(CLI::App& command, const SettingsFile& file) {
  const std::string name = path_of(command);
  std::vector<const FileSetting*> used;
  for (const FileSetting& setting : file.settings) {
    if (setting.command != name || setting.words.empty()) continue;
    if (command.count("--" + setting.key) > 0 || overruled_by_rival(command, setting.key)) continue;
    if (!variable_value(name, setting.key).empty()) continue;
    // Added below, because an added option would count as given on the command line.
    used.push_back(&setting);
  }
  for (const FileSetting* setting : used) {
    CLI::Option* const option = command.get_option("--" + setting->key);
    try {
      for (const std::string& word : setting->words) option->add_result(word);
      option->run_callback();
    } catch (const CLI::ParseError& error) {
      throw UsageError{file.place(*setting) + ": " + error.what()};
    }
  }
}

void prepare(CLI::App& root, CLI::App& command, const std::shared_ptr<std::string>& given) {
  const auto all = [](const CLI::App*) { return true; };
  const std::vector<CLI::App*> inner = command.get_subcommands(all);
  for (CLI::App* sub : inner) prepare(root, *sub, given);
  if (inner.empty()) {
    command
        .add_option("--config", *given,
                    "Use this file of settings (default: cuvmm.toml, here or in a folder above)")
        ->type_name("FILE");
  }
  if (command.get_name() == "config" || !inner.empty()) return;
  command.parse_complete_callback([&root, &command, given] {
    const std::string path = settings_path(*given);
    if (path.empty()) return;
    try {
      fill_in(command, load_settings(path, root));
    } catch (const UsageError& error) {
      if (std::ranges::find(kReaders, command.get_name()) == std::end(kReaders)) throw;
      print_error("cuvmm {}: {}; the file is not used\n", command.get_name(), error.message);
    }
  });
}

}  // namespace

std::string variable_of(const std::string& command, const std::string& key) {
  if (std::ranges::find(kLive, command) != std::end(kLive)) {
    return key == "folder" ? "CUVMM_LIVE" : "";
  }
  if (std::ranges::find(kRunsPrograms, command) == std::end(kRunsPrograms)) return "";
  return variable_of_run(key);
}

std::string variable_value(const std::string& command, const std::string& key) {
  const std::string variable = variable_of(command, key);
  const char* const value = variable.empty() ? nullptr : std::getenv(variable.c_str());
  return value ? value : "";
}

std::string settings_path(const std::string& given) {
  if (!given.empty()) return given;
  const char* const variable = std::getenv("CUVMM_CONFIG");
  if (variable && *variable) return variable;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::current_path(error);
  if (error) return "";
  const FoundFile found = find_settings(folder.string());
  if (!found.stranger.empty()) {
    print_error("cuvmm: {} is not used, as it belongs to another user; --config {} uses it\n",
                found.stranger, found.stranger);
  }
  return found.path;
}

void use_settings(CLI::App& app) {
  const auto given = std::make_shared<std::string>();
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) prepare(app, *command, given);
  }
}

}  // namespace cuvmm::tools
