// SPDX-License-Identifier: Apache-2.0
// A program that `cuvmm fail` starts once, and that forks a child for each run
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
  /// Starts the program and waits until it reaches its fork point.
  explicit ForkServer(Job job);
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;
  ~ForkServer();

  /// The reason why the program cannot serve runs, for the user; "" if it can.
  const std::string& problem() const { return problem_; }
  /// Starts a run that writes into `folder` and in which the calls of `spec` fail. Returns the pid
  /// of its process; -1 if no run was started, and then errno says why.
  pid_t start(const std::string& folder, const std::string& spec);
  /// The pid of a run that has ended, and its status as waitpid() gives it. Does not wait.
  std::optional<std::pair<pid_t, int>> ended();
  /// Whether the program has ended, and all its runs with it.
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
