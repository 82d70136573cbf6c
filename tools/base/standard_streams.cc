// SPDX-License-Identifier: Apache-2.0
#include "tools/base/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cuvmm::tools {

namespace {

int g_output_error = 0;  // errno of the first write to stdout that failed

// Blocks SIGPIPE, and removes a SIGPIPE that a write raised meanwhile, so that cuvmm goes on when
// the reader of its messages ends.
class PipeSignalHeld {
 public:
  PipeSignalHeld() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalHeld() {
    const timespec now{};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &now) == -1 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalHeld(const PipeSignalHeld&) = delete;
  PipeSignalHeld& operator=(const PipeSignalHeld&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_;
};

}  // namespace

void reserve_standard_descriptors() noexcept {
  for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(wanted, F_GETFD) != -1) continue;
    // The descriptor gets the wrong direction, so that reads of stdin and writes to stdout still
    // fail. open() takes the lowest free number, which is `wanted`.
    const int mode = wanted == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", mode | O_CLOEXEC) != wanted) return;
  }
}

void write_error(std::string_view text) noexcept {
  const PipeSignalHeld held;
  while (!text.empty()) {
    const ssize_t count = write(STDERR_FILENO, text.data(), text.size());
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    if (count >= 0 || errno == EINTR) continue;
    pollfd ready = {STDERR_FILENO, POLLOUT, 0};
    if (errno != EAGAIN || poll(&ready, 1, -1) < 0) return;
  }
}

void write_output(std::string_view text) noexcept {
  errno = 0;
  if (fwrite(text.data(), 1, text.size(), stdout) != text.size() && g_output_error == 0) {
    g_output_error = errno ? errno : EIO;
  }
}

std::string finish_output() {
  errno = 0;
  if (fflush(stdout) != 0 && g_output_error == 0) g_output_error = errno ? errno : EIO;
  return g_output_error ? std::strerror(g_output_error) : "";
}

bool nobody_reads_output() {
  finish_output();
  return g_output_error == EPIPE;
}

}  // namespace cuvmm::tools
