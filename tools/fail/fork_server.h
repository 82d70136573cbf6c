// SPDX-License-Identifier: Apache-2.0
// A program that was started once and makes a child of itself for each run
// (shim/cuvmm_api/fork_point.h).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/base/temporary_folder.h"
#include "tools/fail/trial.h"

namespace cuvmm::tools {

class ForkServer {
 public:
  /// Starts the program and waits until it is at its fork point.
  explicit ForkServer(Job job);
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;
  ~ForkServer();

  /// Why there are no such runs, in words; "" where there are.
  const std::string& problem() const { return problem_; }
  /// A run that writes into `folder`, in which these calls fail. Its process; -1: there is none,
  /// and errno says why.
  pid_t start(const std::string& folder, const std::string& spec);
  /// One that has ended, with its status as of waitpid(). Does not wait.
  std::optional<std::pair<pid_t, int>> ended();
  /// The program is gone, and with it all its runs.
  bool lost() const { return lost_; }

 private:
  std::string wait_for_hello(int listening);

  TemporaryFolder folder_;
  std::string problem_;
  pid_t server_ = -1;
  int fd_ = -1;
  bool lost_ = false;
  std::vector<std::pair<pid_t, int>> ended_;
};

}  // namespace cuvmm::tools
