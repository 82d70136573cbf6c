// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line/usage.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "rulebook/profile/profile.h"
#include "tools/command_line/suggest.h"
#include "tools/installation/driver_choice.h"

namespace cuvmm::tools {

CLI::Validator one_of(std::vector<std::string> choices) {
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "" : "|") + choice;
  return CLI::Validator(
      [choices = std::move(choices), list](std::string& word) -> std::string {
        if (std::find(choices.begin(), choices.end(), word) != choices.end()) return "";
        constexpr std::size_t kMostListed = 25;
        const std::string expected = choices.size() > kMostListed
                                         ? "the " + std::to_string(choices.size()) + " known names"
                                         : list;
        return "'" + word + "' is not one of " + expected + did_you_mean(word, choices);
      },
      "");
}

namespace {

// "", or why no file with this name can be read.
std::string cannot_read(const std::string& path) {
  struct stat status;
  const bool ok = stat(path.c_str(), &status) == 0 && access(path.c_str(), R_OK) == 0;
  if (!ok) return path + ": " + std::strerror(errno);
  return S_ISDIR(status.st_mode) ? path + " is a folder; a file was expected" : "";
}

}  // namespace

CLI::Validator readable_file() {
  return CLI::Validator([](std::string& path) { return cannot_read(path); }, "");
}

CLI::Validator driver_library() {
  return CLI::Validator(
      [](std::string& name) -> std::string {
        const bool path = name.find('/') != std::string::npos;
        if (!path && name.find(".so") != std::string::npos && access(name.c_str(), F_OK) != 0) {
          const std::string found = find_driver(name);
          if (found.empty()) return name + ": no such file, and the loader finds no libcuda by it";
          name = found;
          return "";
        }
        std::string problem = cannot_read(name);
        // The loader would look for a name without a slash elsewhere.
        if (problem.empty() && !path) name = std::filesystem::absolute(name);
        return problem;
      },
      "");
}

CLI::Validator whole_number(long low, long high) {
  const std::string range = std::to_string(low) + ".." + std::to_string(high);
  return CLI::Validator(
      [low, high, range](std::string& word) -> std::string {
        long value = 0;
        const char* end = word.data() + word.size();
        const auto [stop, error] = std::from_chars(word.data(), end, value);
        if (error == std::errc{} && stop == end && value >= low && value <= high) return "";
        return "'" + word + "' is not a whole number in " + range;
      },
      "");
}

CLI::Validator seconds(double low) {
  constexpr double kMost = 1e9;  // in milliseconds it still fits into a long and a double
  return CLI::Validator(
      [low](std::string& word) -> std::string {
        double value = 0;
        const char* end = word.data() + word.size();
        const auto [stop, error] = std::from_chars(word.data(), end, value);
        // The comparisons are false for nan, so nan is refused.
        if (error == std::errc{} && stop == end && value >= low && value <= kMost) return "";
        return "'" + word + "' is not a number of seconds from " + (low > 0 ? "0.001" : "0") +
               " to 1000000000";
      },
      "");
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string unexpected(const CLI::App& app) {
  const std::vector<std::string> rest = app.remaining();
  if (rest.empty()) return "";
  const std::string word = rest.front().substr(0, rest.front().find('='));
  const bool option = word.size() > 1 && word[0] == '-';
  return (option ? "unknown option " : "unexpected argument ") + word +
         (option ? did_you_mean(word, option_names(app)) : "");
}

void add_emulate(CLI::App& app, std::string& profile, const std::string& help) {
  app.add_flag("--emulate{}", profile, help);
}

std::vector<std::string> all_profiles() {
  std::vector<std::string> names = builtin_profiles();
  for (std::string& name : platform_profiles()) names.push_back(std::move(name));
  return names;
}

std::string profile_meant(const std::string& word) {
  std::string small = word;
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::vector<std::string> known = all_profiles();
  if (std::ranges::find(known, small) != known.end()) return small;
  const auto found = std::ranges::find_if(known, [&](const std::string& name) {
    return !small.empty() && name.starts_with(small + "-");
  });
  return found == known.end() ? "" : *found;
}

std::string resolve_profile(const std::string& profile, const char* option) {
  if (profile.empty()) return profile;
  const std::vector<std::string> known = all_profiles();
  const ProfileResult result = load_profile(profile);
  if (!result.error.empty()) {
    throw UsageError{std::string(option) + ": " + result.error + did_you_mean(profile, known)};
  }
  const bool builtin = std::find(known.begin(), known.end(), profile) != known.end();
  return builtin ? profile : std::filesystem::absolute(profile).lexically_normal().string();
}

void refuse_unexpected(const CLI::App& app) {
  if (std::string message = unexpected(app); !message.empty()) throw UsageError{std::move(message)};
}

}  // namespace cuvmm::tools
