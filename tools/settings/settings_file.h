// SPDX-License-Identifier: Apache-2.0
// cuvmm.toml has a table for each command. The keys are the names of the command's long options;
// the CLI::App of the command line defines the options and the types of their values.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/base/json.h"

namespace cuvmm::tools {

/// One key of the file.
struct FileSetting {
  std::string command;  ///< "run", or "work run"
  std::string key;      ///< "devices"
  /// The words of a command line with this value; none for `false`.
  std::vector<std::string> words;
  Json value;                          ///< the value in the file; paths are absolute
  std::uint32_t line = 0, column = 0;  ///< place of the value, from 1
};

struct SettingsFile {
  std::string path;  ///< absolute; "": no file
  std::vector<FileSetting> settings;

  /// "PATH:LINE:COLUMN".
  std::string place(const FileSetting& setting) const;
};

/// Reads `text`, the content of the file at `path`. Throws UsageError with line and column if a
/// table is no command of `app`, a key no option of its command, or a value not of its option's
/// type. A relative file name counts from the folder of `path`.
SettingsFile parse_settings(const std::string& text, const std::string& path, const CLI::App& app);

/// Reads the file at `path` and calls parse_settings().
SettingsFile load_settings(const std::string& path, const CLI::App& app);

/// The settings file of a folder: cuvmm.toml in it, else in the nearest folder above.
struct FoundFile {
  std::string path;      ///< "": no file that may be used
  std::string stranger;  ///< path of a file that is not used, because another user owns it
};
FoundFile find_settings(const std::string& folder);

/// The option of `command` that `key` names, or null. A file cannot set --help and --config.
const CLI::Option* option_of_key(const CLI::App& command, const std::string& key);

/// All keys of `command`.
std::vector<std::string> keys_of(const CLI::App& command);

}  // namespace cuvmm::tools
