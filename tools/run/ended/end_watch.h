// SPDX-License-Identifier: Apache-2.0
// Finds out when processes end whose parent is not this command. The kernel reports an end only to
// the parent, so this class looks again and again.
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
  /// Watches the processes of this `cuvmm run` that show their objects in this folder; "": none.
  explicit EndWatch(std::string live_folder);

  /// Looks at each process: about twenty times a second, and once more after all have ended.
  void look();
  /// The end of the process with this image (api/posix/image_name.h), if look() saw it. `ns` is 0
  /// where look() never saw the process alive.
  std::optional<ProcessEnd> end_of(const std::string& image) const;

 private:
  struct Watched {
    std::uint64_t pid = 0;
    std::uint64_t start = 0;  // when the process started
    std::uint64_t start_stack =
        0;  // where the program's stack begins, which exec changes; 0 unknown
    bool over = false;
    ThreadLooks looks;
    ProcessEnd end;
  };

  void find_new();
  std::optional<bool> is_of_this_run(const std::string& file, Watched& one) const;
  static void look_at(Watched& one);

  const std::string folder_;
  const std::uint64_t run_pid_, run_start_;
  std::map<std::string, Watched> images_;
  std::set<std::string> others_;  // files of other runs, and files of another kind
};

}  // namespace cuvmm::tools
