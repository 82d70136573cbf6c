// SPDX-License-Identifier: Apache-2.0
// What the user calls his own code: --blame.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "frames/frame.h"

namespace cuvmm::tools {

/// Folders, files, and objects by their name.
class OwnCode {
 public:
  OwnCode() = default;
  /// A word with a '/' is a path, absolute; any other is the name of an object or source file:
  /// "libmine.so" (which "libmine.so.2" is as well), "train.py".
  explicit OwnCode(const std::vector<std::string>& words);

  bool empty() const { return words_.empty(); }
  /// Whether the frame's source file or object is one of them, or lies in one.
  bool holds(const frames::Frame& frame) const;
  const std::vector<std::string>& words() const { return words_; }

 private:
  bool holds(const std::string& path) const;
  bool look(const std::string& path) const;

  std::vector<std::string> words_;
  std::vector<std::filesystem::path> places_;  ///< as they were given, and without links
  std::vector<std::string> names_;
  mutable std::unordered_map<std::string, bool> known_;  ///< a report names few files, often
};

/// What --blame WORD means for a program: absolute paths, names. Throws UsageError for what cannot
/// be there: a mistyped word would leave out every finding.
std::vector<std::string> checked_own_code(const std::vector<std::string>& words,
                                          const std::string& program);

}  // namespace cuvmm::tools
