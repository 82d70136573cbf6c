// SPDX-License-Identifier: Apache-2.0
// When processes end that answer to their own parents: the kernel tells nobody else, so they are
// looked at again and again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tools/report/tree/process_end.h"

namespace cuvmm::tools {

class EndWatch {
 public:
  /// Of the processes of this `cuvmm run` that show in this folder what they hold; "": of none.
  explicit EndWatch(std::string live_folder);

  /// Looks at each: some twenty times a second, and once more when all have ended.
  void look();
  /// The end of this image (api/posix/image_name.h), where it was seen; its `ns` is 0 where nobody
  /// saw it alive.
  std::optional<ProcessEnd> end_of(const std::string& image) const;

 private:
  struct Watched {
    std::uint64_t pid = 0;
    std::uint64_t start = 0;        // of the process
    std::uint64_t start_stack = 0;  // of the program: another one after exec; 0 unknown
    bool over = false;
    ThreadLooks looks;
    ProcessEnd end;
  };

  void find_new();
  std::optional<bool> is_ours(const std::string& file, Watched& one) const;
  static void look_at(Watched& one);

  const std::string folder_;
  const std::uint64_t run_pid_, run_start_;
  std::map<std::string, Watched> images_;
  std::set<std::string> others_;  // files of other runs, and what is no such file
};

}  // namespace cuvmm::tools
