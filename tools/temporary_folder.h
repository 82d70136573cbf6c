// A folder of our own under $TMPDIR, removed with all it holds when it goes out of scope.
#pragma once

#include <string>

namespace cuvmm {

class TemporaryFolder {
 public:
  /// Makes the folder, readable by this user alone; path() is empty when that failed (errno says
  /// why).
  TemporaryFolder();
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

}  // namespace cuvmm
