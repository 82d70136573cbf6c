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

namespace cuvmm::tools {

namespace {

// What the shim and the emulator read (docs/environment.md), by the options of `cuvmm run`.
struct OptionVariable {
  std::string_view key;
  const char* variable;
};
constexpr OptionVariable kOfRun[] = {
    {"allow-multicast", "CUVMM_ALLOW_MULTICAST"},
    {"async", "CUVMM_ASYNC"},
    {"blame", "CUVMM_BLAME"},
    {"color", "CUVMM_COLOR"},
    {"debuginfod", "CUVMM_DEBUGINFOD"},
    {"devices", "CUVMM_DEVICES"},
    {"driver", "CUVMM_DRIVER"},
    {"emulate", "CUVMM_DRIVER"},  // it says which libcuda, as --emulate does
    {"enforce", "CUVMM_ENFORCE"},
    {"fail", "CUVMM_FAIL"},
    {"guard", "CUVMM_GUARD"},
    {"hostile", "CUVMM_HOSTILE"},
    {"leak-check", "CUVMM_LEAK_CHECK"},
    {"leaks-signal", "CUVMM_LEAKS_SIGNAL"},
    {"limit", "CUVMM_LIMIT"},
    {"live", "CUVMM_LIVE"},
    {"no-python-frames", "CUVMM_NO_PYTHON_FRAMES"},
    {"no-symbols", "CUVMM_NO_SYMBOLS"},
    {"nvtx-include", "CUVMM_NVTX_INCLUDE"},
    {"poison", "CUVMM_POISON"},
    {"quarantine", "CUVMM_QUARANTINE"},
    {"quiet", "CUVMM_QUIET"},
    {"ring", "CUVMM_RING"},
    {"stack-depth", "CUVMM_STACK_DEPTH"},
    {"streams", "CUVMM_STREAMS"},
    {"suppressions", "CUVMM_SUPPRESSIONS"},
    {"trace", "CUVMM_TRACE"},
    {"trace-calls", "CUVMM_TRACE_CALLS"},
    {"trace-errors", "CUVMM_TRACE_ERRORS"},
    {"unordered", "CUVMM_UNORDERED"},
    {"verbose", "CUVMM_VERBOSE"},
};
constexpr std::string_view kRunsPrograms[] = {"run", "fail", "hostile"};
constexpr std::string_view kLive[] = {"top", "map", "leaks"};

// What these say does not depend on a mistake in a file of settings.
constexpr std::string_view kReaders[] = {"explain", "explain-crash", "rules"};

std::string path_of(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  const bool inner = parent && parent->get_parent();
  return inner ? parent->get_name() + " " + command.get_name() : command.get_name();
}

// On the command line, the other one of these two decides.
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
    used.push_back(&setting);  // (until all are judged, as they count from then on)
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
  const auto* const found =
      std::ranges::find_if(kOfRun, [&](const OptionVariable& one) { return one.key == key; });
  return found == std::end(kOfRun) ? "" : found->variable;
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
