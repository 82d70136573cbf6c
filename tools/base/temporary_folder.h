// SPDX-License-Identifier: Apache-2.0
// A folder of our own for what lasts no longer than a command. It is removed with all it holds when
// it goes out of scope.
#pragma once

#include <string>

namespace cuvmm::tools {

class TemporaryFolder {
 public:
  /// Makes the folder, readable by this user alone: in `where`, if that is not "". Else in the
  /// first of $TMPDIR, /tmp, /var/tmp and /dev/shm that can be written: a container whose root is
  /// read-only may have nothing but /dev/shm. path() is "" when that failed.
  explicit TemporaryFolder(const std::string& where = "");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Why there is none, in words, and what to do; "" where there is one.
  const std::string& problem() const { return problem_; }
  /// Lets processes of any user make files in it, but not see those of others: a program that root
  /// runs may start some as another user. Of anybody else's program all are that user's: nothing.
  void open_to_other_users() const;
  /// Leaves the folder in place for the user to look at.
  void keep() { kept_ = true; }

 private:
  std::string path_, problem_;
  bool kept_ = false;
};

}  // namespace cuvmm::tools
