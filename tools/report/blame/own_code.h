// SPDX-License-Identifier: Apache-2.0
// The code that the user names as his own by --blame.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "frames/frame.h"

namespace cuvmm::tools {

/// A set of folders, source files and objects.
class OwnCode {
 public:
  OwnCode() = default;
  /// A word with a '/' is an absolute path. Any other word is the name of an object or source file:
  /// "libmine.so" (which also means "libmine.so.2") or "train.py".
  explicit OwnCode(const std::vector<std::string>& words);

  bool empty() const { return words_.empty(); }
  /// Whether the frame's source file or object is in the set, or lies in a folder of the set.
  bool holds(const frames::Frame& frame) const;
  const std::vector<std::string>& words() const { return words_; }

 private:
  bool holds(const std::string& path) const;
  bool look(const std::string& path) const;

  std::vector<std::string> words_;
  std::vector<std::filesystem::path> places_;  ///< each with and without symbolic links
  std::vector<std::string> names_;
  /// Results by path: a report repeats few paths.
  mutable std::unordered_map<std::string, bool> known_;
};

/// Turns the words of --blame into absolute paths and names for OwnCode. Throws UsageError for a
/// word that fits nothing, because with a mistyped word no finding would count.
std::vector<std::string> checked_own_code(const std::vector<std::string>& words,
                                          const std::string& program);

}  // namespace cuvmm::tools
