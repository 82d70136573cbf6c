// SPDX-License-Identifier: Apache-2.0
// A folder for files that a command needs only while it runs. The destructor removes the folder
// with all its files.
#pragma once

#include <string>

namespace cuvmm::tools {

class TemporaryFolder {
 public:
  /// Makes the folder, readable by this user only, in `where`. If `where` is "": in the first of
  /// $TMPDIR, /tmp, /var/tmp and /dev/shm that can be written. /dev/shm is among them, because a
  /// container with a read-only root may have nothing else. path() is "" if no folder could be
  /// made.
  explicit TemporaryFolder(const std::string& where = "");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  /// The reason why no folder could be made, and advice for the user; "" if the folder exists.
  const std::string& problem() const { return problem_; }
  /// Lets processes of any user make files in the folder, but not read the files of others. Needed
  /// because a program that root runs may start processes as another user. If this user is not
  /// root, the function does nothing, because all processes of the program then run as this user.
  void open_to_other_users() const;
  /// Leaves the folder in place for the user to look at.
  void keep() { stays_ = true; }

 private:
  std::string path_, problem_;
  bool stays_ = false;
};

}  // namespace cuvmm::tools
