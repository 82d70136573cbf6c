// SPDX-License-Identifier: Apache-2.0
#include "tools/settings/settings_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "api/posix/whole_file.h"
#include "rulebook/profile/toml_text.h"
#include "tools/command_line/suggest.h"
#include "tools/command_line/usage.h"

namespace cuvmm::tools {

namespace {

constexpr const char* kFileName = "cuvmm.toml";

bool is_switch(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

// Whether the option is a switch that may have a value, as `--emulate[=PROFILE]` is.
bool is_glued(const CLI::Option& option) {
  return option.get_name(false, true).find("{}") != std::string::npos;
}

bool takes_several(const CLI::Option& option) {
  return option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

// Whether one of the alternatives in "USR1|USR2|N" begins with `word`.
bool has_alternative(const std::string& type, const std::string& word) {
  for (std::size_t start = 0; start <= type.size();) {
    const std::size_t end = std::min(type.find('|', start), type.size());
    const std::string one = type.substr(start, end - start);
    if (one.substr(0, one.find('[')) == word) return true;
    start = end + 1;
  }
  return false;
}

bool names_a_file(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  for (const char* word : {"FILE", "PATH", "DIR", "FOLDER"}) {
    if (has_alternative(type, word)) return true;
  }
  return false;
}

std::string expected_by(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (is_glued(option)) return "true, false or the name of a profile";
  if (is_switch(option)) return "true or false";
  if (type == "N") return "a whole number";
  if (type == "SECONDS") return "a number of seconds";
  const std::string one = "a string (" + (type.empty() ? "TEXT" : type) + ")";
  return takes_several(option) ? one + ", or an array of them" : one;
}

class SettingsReader {
 public:
  SettingsReader(SettingsFile& file, const CLI::App& app)
      : file_(file), app_(app), folder_(std::filesystem::path(file.path).parent_path()) {}

  void read(const toml::table& root) {
    for (auto&& [key, node] : root) {
      const std::string name(key.str());
      const toml::table* table = node.as_table();
      if (!table) fail(key.source(), name + " stands before any table; expected one such as [run]");
      const CLI::App* command = find_command(app_, name);
      if (!command) {
        fail(key.source(), "unknown table [" + name + "]; tables have the names of commands" +
                               did_you_mean(name, commands_of(app_)));
      }
      read_command(*command, name, *table);
    }
    refuse_rivals();
    for (const char* command : {"fail", "hostile"}) inherit(*app_.get_subcommand(command), command);
  }

 private:
  [[noreturn]] void fail(const toml::source_region& at, const std::string& what) const {
    throw UsageError{toml_mistake(file_.path, at, what)};
  }

  static std::vector<std::string> commands_of(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
      if (!sub->get_group().empty()) names.push_back(sub->get_name());
    }
    return names;
  }

  static const CLI::App* find_command(const CLI::App& app, const std::string& name) {
    const std::vector<std::string> known = commands_of(app);
    return std::find(known.begin(), known.end(), name) == known.end() ? nullptr
                                                                      : app.get_subcommand(name);
  }

  void read_command(const CLI::App& command, const std::string& name, const toml::table& table) {
    for (auto&& [toml_key, node] : table) {
      const std::string key(toml_key.str());
      const CLI::App* const inner = node.is_table() ? find_command(command, key) : nullptr;
      if (inner) {
        read_command(*inner, name + " " + key, *node.as_table());
        continue;
      }
      const CLI::Option* const option = option_of_key(command, key);
      if (!option) {
        fail(toml_key.source(), "unknown key " + key + " in [" + name +
                                    "]; keys are the options of cuvmm " + name +
                                    did_you_mean(key, keys_of(command)));
      }
      read_value(*option, name, key, node);
    }
  }

  void read_value(const CLI::Option& option, const std::string& command, const std::string& key,
                  const toml::node& node) {
    FileSetting setting{
        command, key, {}, nullptr, node.source().begin.line, node.source().begin.column};
    if (const toml::array* const list = node.as_array(); list && takes_several(option)) {
      setting.value = Json::array();
      for (const toml::node& one : *list) setting.value.push_back(read_one(option, key, one));
      for (const Json& one : setting.value) setting.words.push_back(one.get<std::string>());
    } else {
      setting.value = read_one(option, key, node);
      if (setting.value.is_string()) {
        setting.words = {setting.value.get<std::string>()};
      } else if (setting.value.is_boolean()) {
        if (setting.value.get<bool>()) setting.words = {is_glued(option) ? "" : "true"};
      } else {
        setting.words = {setting.value.dump()};
      }
    }
    file_.settings.push_back(std::move(setting));
  }

  // Reads a value of the type that the option takes.
  Json read_one(const CLI::Option& option, const std::string& key, const toml::node& node) const {
    const std::string type = option.get_type_name();
    if (is_switch(option)) {
      if (const auto flag = node.value_exact<bool>()) return *flag;
      if (!is_glued(option)) wrong(option, key, node);
    } else if (type == "N" || type == "SECONDS" || has_alternative(type, "N") ||
               has_alternative(type, "SEED")) {
      if (const auto number = node.value_exact<std::int64_t>()) return *number;
      if (type == "SECONDS") {
        if (const auto number = node.value_exact<double>()) return *number;
      }
      if (type == "N" || type == "SECONDS") wrong(option, key, node);
    }
    const auto text = node.value_exact<std::string>();
    if (!text) wrong(option, key, node);
    return in_the_folder(option, *text);
  }

  [[noreturn]] void wrong(const CLI::Option& option, const std::string& key,
                          const toml::node& node) const {
    fail(node.source(), key + ": expected " + expected_by(option));
  }

  // Makes a relative file name absolute, because the settings file also counts in folders below its
  // own.
  std::string in_the_folder(const CLI::Option& option, const std::string& text) const {
    const std::string type = option.get_type_name();
    bool file = names_a_file(option) && !has_alternative(type, text);
    if (has_alternative(type, "NAME") && text.find('/') == std::string::npos)
      file = std::filesystem::exists(folder_ / text);  // else the text is a name, and no path
    if (is_glued(option)) {
      const std::vector<std::string> known = all_profiles();
      file = std::find(known.begin(), known.end(), text) == known.end() &&
             (text.find('/') != std::string::npos || text.ends_with(".toml"));
    }
    return file && !text.empty() ? (folder_ / text).lexically_normal().string() : text;
  }

  bool has(const std::string& command, const std::string& key) const {
    return std::ranges::any_of(file_.settings, [&](const FileSetting& one) {
      return one.command == command && one.key == key;
    });
  }

  // Whether the file sets the key. A switch that is `false` sets nothing, so another key may
  // decide.
  bool answers(const std::string& command, const std::string& key) const {
    return std::ranges::any_of(file_.settings, [&](const FileSetting& one) {
      return one.command == command && one.key == key && !one.words.empty();
    });
  }

  // The key that excludes `key`, because both decide the same thing; "" if there is none.
  static std::string rival_of(const std::string& key) {
    constexpr std::pair<std::string_view, std::string_view> kRivals[] = {
        {"driver", "emulate"}, {"no-nvtx", "nvtx-include"}};
    for (const auto& [one, other] : kRivals) {
      if (key == one) return std::string(other);
      if (key == other) return std::string(one);
    }
    return "";
  }

  // Copies settings of [run] to a command that runs a program many times. Settings that make sense
  // for one run only, and those that such a command chooses itself, are not copied.
  void inherit(const CLI::App& command, const std::string& name) {
    constexpr std::string_view kOneRun[] = {
        "allow-unchecked", "blame",    "error-exitcode", "fail",        "hostile",
        "leaks-signal",    "live",     "report",         "ring",        "skipped-exitcode",
        "streams",         "timeline", "trace",          "trace-calls", "trace-errors"};
    std::vector<FileSetting> inherited;
    for (const FileSetting& setting : file_.settings) {
      if (setting.command != "run" || !option_of_key(command, setting.key)) continue;
      if (std::ranges::find(kOneRun, setting.key) != std::end(kOneRun)) continue;
      // `cuvmm hostile` always runs on the emulator.
      if (name == "hostile" && setting.key == "driver") continue;
      if (has(name, setting.key) || answers(name, rival_of(setting.key))) continue;
      inherited.push_back(setting);
      inherited.back().command = name;
    }
    std::ranges::move(inherited, std::back_inserter(file_.settings));
  }

  void refuse_rivals() const {
    for (const FileSetting& driver : file_.settings) {
      if (driver.key == "driver" && answers(driver.command, "emulate")) {
        throw UsageError{file_.place(driver) + ": driver and emulate exclude each other"};
      }
    }
  }

  SettingsFile& file_;
  const CLI::App& app_;
  const std::filesystem::path folder_;
};

}  // namespace

std::string SettingsFile::place(const FileSetting& setting) const {
  return path + ":" + std::to_string(setting.line) + ":" + std::to_string(setting.column);
}

SettingsFile parse_settings(const std::string& text, const std::string& path, const CLI::App& app) {
  const TomlResult toml = read_toml(text, path);
  if (!toml.error.empty()) throw UsageError{toml.error};
  SettingsFile file{path, {}};
  SettingsReader(file, app).read(toml.table);
  // Sorts by line, as people expect, because TOML's tables have an order of their own.
  std::ranges::stable_sort(file.settings, [](const FileSetting& a, const FileSetting& b) {
    return std::make_pair(a.line, a.column) < std::make_pair(b.line, b.column);
  });
  return file;
}

SettingsFile load_settings(const std::string& path, const CLI::App& app) {
  const WholeFile file = whole_file(path);
  if (!file.error.empty()) throw UsageError{path + ": " + file.error};
  return parse_settings(file.text, std::filesystem::absolute(path).lexically_normal().string(),
                        app);
}

FoundFile find_settings(const std::string& folder) {
  FoundFile found;
  std::filesystem::path here = std::filesystem::path(folder).lexically_normal();
  for (;;) {
    const std::string path = (here / kFileName).string();
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      // A settings file can name a library to load. Only a file of this user or of root is used, so
      // that no other user can make cuvmm load a library.
      const bool trusted = status.st_uid == ::geteuid() || status.st_uid == 0;
      (trusted ? found.path : found.stranger) = path;
      return found;
    }
    const std::filesystem::path above = here.parent_path();
    if (above == here) return found;
    here = above;
  }
}

const CLI::Option* option_of_key(const CLI::App& command, const std::string& key) {
  const std::vector<std::string> known = keys_of(command);
  if (std::find(known.begin(), known.end(), key) == known.end()) return nullptr;
  return command.get_option("--" + key);
}

std::vector<std::string> keys_of(const CLI::App& command) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (name != "help" && name != "config") keys.push_back(name);
    }
  }
  return keys;
}

}  // namespace cuvmm::tools
