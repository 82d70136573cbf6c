#include "shim/output.h"

#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace cuvmm::shim {

namespace {

std::atomic<bool> g_silent{false};

// A closed pipe behind stderr must not kill a program that never wrote to it: SIGPIPE is held back
// for this thread, and one that our write raised is taken away again.
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
    if (!was_pending_) {
      const timespec now{};
      while (sigtimedwait(&pipe_, nullptr, &now) == -1 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_;
};

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void write_stderr(std::string_view text) noexcept {
  if (g_silent.load(std::memory_order_relaxed)) return;
  const int saved = errno;
  {
    PipeSignalHeld held;
    write_all(text);
  }
  errno = saved;
}

void silence_stderr(bool silent) noexcept { g_silent.store(silent, std::memory_order_relaxed); }

void say(std::string_view text) noexcept {
  char line[1024] = "cuvmm: ";
  std::size_t length = 7;
  const std::size_t room = sizeof line - length - 1;
  const std::size_t take = text.size() < room ? text.size() : room;
  text.copy(line + length, take);
  length += take;
  line[length++] = '\n';
  write_stderr({line, length});
}

}  // namespace cuvmm::shim
