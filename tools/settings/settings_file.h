// SPDX-License-Identifier: Apache-2.0
// cuvmm.toml: a table for each command, with the names of the command's long options as keys. The
// command line's own table of options says which there are, and what they take.
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
  std::string command;                 ///< "run", or "work run"
  std::string key;                     ///< "devices"
  std::vector<std::string> words;      ///< as the command line would have them; none for `false`
  Json value;                          ///< as the file has it; paths are absolute
  std::uint32_t line = 0, column = 0;  ///< of the value
};

struct SettingsFile {
  std::string path;  ///< absolute; "" when there is no file
  std::vector<FileSetting> settings;

  /// "PATH:LINE:COLUMN".
  std::string place(const FileSetting& setting) const;
};

/// Reads `text`, which stands in a file at `path`. Every table and key has to be of a command in
/// `app`, and every value of the type that its option takes; else throws UsageError with line and
/// column. Relative names of files mean the folder of `path`.
SettingsFile parse_settings(const std::string& text, const std::string& path, const CLI::App& app);

/// The same, of the file at `path`.
SettingsFile load_settings(const std::string& path, const CLI::App& app);

/// Where the settings of a folder are: cuvmm.toml there, else in the nearest folder above it.
struct FoundFile {
  std::string path;      ///< "" if there is none that may be used
  std::string stranger;  ///< one that was passed over, as it belongs to another user
};
FoundFile find_settings(const std::string& folder);

/// The option of `command` that `key` names, or null. A file cannot set --help and --config.
const CLI::Option* option_of_key(const CLI::App& command, const std::string& key);

/// All keys of `command`.
std::vector<std::string> keys_of(const CLI::App& command);

}  // namespace cuvmm::tools
