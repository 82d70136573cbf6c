// SPDX-License-Identifier: Apache-2.0
#include "tools/report/blame/own_code.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <system_error>

#include "frames/stack_text.h"
#include "tools/command_line/usage.h"

namespace cuvmm::tools {

namespace {

namespace fs = std::filesystem;

fs::path without_links(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(path, error);
  return error ? path : real;
}

bool lies_within(const fs::path& path, const fs::path& place) {
  return std::mismatch(place.begin(), place.end(), path.begin(), path.end()).first == place.end();
}

// The path without a '/' at its end, because std::filesystem sees an empty component behind it.
fs::path as_place(const std::string& word) {
  const fs::path path = fs::path(word).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

OwnCode::OwnCode(const std::vector<std::string>& words) : words_(words) {
  for (const std::string& word : words) {
    if (word.find('/') == std::string::npos) {
      names_.push_back(word);
      continue;
    }
    places_.push_back(as_place(word));
    places_.push_back(without_links(places_.back()));
  }
}

bool OwnCode::holds(const std::string& path) const {
  if (words_.empty() || path.empty()) return false;
  const auto [known, fresh] = known_.try_emplace(path, false);
  if (fresh) known->second = look(path);
  return known->second;
}

bool OwnCode::look(const std::string& path) const {
  const std::string file(frames::file_name(path));
  const auto named = [&](const std::string& name) {
    return file == name || (name.ends_with(".so") && file.starts_with(name + "."));
  };
  if (std::ranges::any_of(names_, named)) return true;
  if (places_.empty() || path.front() == '<') return false;
  std::error_code error;
  const fs::path given = fs::absolute(path, error).lexically_normal(), real = without_links(given);
  return std::ranges::any_of(places_, [&](const fs::path& place) {
    return lies_within(given, place) || lies_within(real, place);
  });
}

bool OwnCode::holds(const frames::Frame& frame) const {
  return holds(frame.file) || (!frame.python() && holds(frame.module));
}

std::vector<std::string> checked_own_code(const std::vector<std::string>& words,
                                          const std::string& program) {
  std::vector<std::string> checked;
  for (const std::string& word : words) {
    std::error_code error;
    const bool there = fs::exists(word, error), bare = word.find('/') == std::string::npos;
    if (there) checked.push_back(fs::absolute(word).lexically_normal().string());
    if (there && (!bare || fs::is_directory(word, error))) continue;
    const bool object =
        bare && (word.find('.') != std::string::npos || word == frames::file_name(program));
    if (!object && !there) {
      throw UsageError{"--blame " + word + ": there is no such file or folder" +
                       (bare ? ", and an object is named as libmine.so is" : "")};
    }
    checked.push_back(word);
  }
  return checked;
}

}  // namespace cuvmm::tools
