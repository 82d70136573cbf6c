// SPDX-License-Identifier: Apache-2.0
// The command lines of the fuzzers: options with a value each, and files.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace cuvmm::fuzz {

struct Option {
  std::string_view key;  ///< "--seed"
  std::function<void(const char*)> take;
};
/// Stores the option's value.
inline Option option(std::string_view key, std::string& to) {
  return {key, [&to](const char* value) { to = value; }};
}
inline Option option(std::string_view key, std::uint64_t& to) {
  return {key, [&to](const char* value) { to = std::strtoull(value, nullptr, 0); }};
}
inline Option option(std::string_view key, double& to) {
  return {key, [&to](const char* value) { to = std::atof(value); }};
}

/// Takes each option of a command line; false for an unknown one, and for one without a value.
inline bool take_options(int argc, char** argv, std::initializer_list<Option> options) {
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return false;
    const Option* found = nullptr;
    for (const Option& each : options) {
      if (each.key == argv[i]) found = &each;
    }
    if (!found) return false;
    found->take(argv[i + 1]);
  }
  return true;
}

/// The bytes of a file; nothing, and a line on stderr, if it cannot be read.
inline std::optional<std::string> file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream stream;
  stream << file.rdbuf();
  if (file) return stream.str();
  std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
  return std::nullopt;
}

}  // namespace cuvmm::fuzz
