// SPDX-License-Identifier: Apache-2.0
#include "fuzz/search/in_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "program/outcome.h"

namespace cuvmm::fuzz {

std::string in_child(const std::function<void()>& work, std::chrono::milliseconds time) {
  using Clock = std::chrono::steady_clock;
  const pid_t child = fork();
  if (child < 0) return "fork failed";
  if (child == 0) {
    work();
    _exit(0);
  }
  const auto end = Clock::now() + time;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return "timeout";
    }
    usleep(100);
  }
  const bool meant =
      WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kReasonWritten);
  return meant ? "" : program::outcome_text(program::outcome_of_end(status));
}

}  // namespace cuvmm::fuzz
