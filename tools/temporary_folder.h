// SPDX-License-Identifier: Apache-2.0
// A folder of our own under $TMPDIR or /tmp, removed with all it holds when it goes out of scope.
#pragma once

#include <string>

namespace cuvmm::tools {

class TemporaryFolder {
 public:
  /// Makes the folder, readable by this user alone, in `where` if that is not ""; path() is empty
  /// when that failed (errno says why).
  explicit TemporaryFolder(const std::string& where = "");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Leaves the folder in place for the user to look at.
  void keep() { kept_ = true; }

 private:
  std::string path_;
  bool kept_ = false;
};

}  // namespace cuvmm::tools
