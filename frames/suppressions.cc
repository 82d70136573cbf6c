// SPDX-License-Identifier: Apache-2.0
#include "frames/suppressions.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "frames/cxx_names.h"
#include "frames/glob.h"
#include "frames/stack_text.h"
#include "frames/suppression_text.h"

namespace cuvmm::frames {

namespace {

bool function_matches(const std::string& pattern, const Frame& frame) {
  // The user may write a demangled name without its parameters,
  const std::string_view function = frame.function;
  // The user may also write the shortened name, which the text on stderr shows.
  return glob_matches(pattern, function) || glob_matches(pattern, shortened(function)) ||
         glob_matches(pattern, function.substr(0, function.find('('))) ||
         glob_matches(pattern, frame.module) || glob_matches(pattern, file_name(frame.module)) ||
         (frame.python() &&
          (glob_matches(pattern, frame.file) || glob_matches(pattern, file_name(frame.file))));
}

}  // namespace

Suppressions Suppressions::parse(std::string_view text, const std::string& file) {
  Suppressions result;
  SuppressionText read = read_suppressions(text);
  for (SuppressionLine& line : read.lines) {
    result.entries_.push_back({.rule = std::move(line.rule),
                               .file = file + ":" + std::to_string(line.number),
                               .function = std::move(line.function)});
  }
  for (const std::string& error : read.errors) result.errors_.push_back(file + ":" + error);
  result.used_.resize(result.entries_.size());
  return result;
}

Suppressions Suppressions::load(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    Suppressions result;
    result.errors_.push_back(path + ":1:1: cannot read the suppressions: " + std::strerror(errno));
    return result;
  }
  std::string text;
  char block[4096];
  for (ssize_t got; (got = ::read(fd, block, sizeof block)) > 0;) {
    text.append(block, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return parse(text, path);
}

bool Suppressions::needs_stack(std::string_view rule) const {
  return std::ranges::any_of(entries_, [&](const Suppression& entry) {
    return !entry.function.empty() && (entry.rule.empty() || glob_matches(entry.rule, rule));
  });
}

bool Suppressions::matches(std::string_view rule, std::span<const Frame> frames) const {
  const auto found = std::ranges::find_if(entries_, [&](const Suppression& entry) {
    if (!entry.rule.empty() && !glob_matches(entry.rule, rule)) return false;
    return entry.function.empty() || std::ranges::any_of(frames, [&](const Frame& frame) {
             return function_matches(entry.function, frame);
           });
  });
  if (found == entries_.end()) return false;
  std::atomic_ref<unsigned char> used(used_[static_cast<std::size_t>(found - entries_.begin())]);
  used.store(1, std::memory_order_relaxed);
  return true;
}

std::vector<std::string> Suppressions::unused() const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (std::atomic_ref<unsigned char>(used_[i]).load(std::memory_order_relaxed) != 0) continue;
    const Suppression& entry = entries_[i];
    std::string text = entry.file + ":";
    if (!entry.rule.empty()) text += " rule:" + entry.rule;
    if (!entry.function.empty()) text += " function:" + entry.function;
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace cuvmm::frames
