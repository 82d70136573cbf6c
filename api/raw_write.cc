#include "api/raw_write.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace cuvmm {

namespace {

// Held back for this thread; one that our write raised is taken away again.
class WriteSignalsHeld {
 public:
  WriteSignalsHeld() {
    sigemptyset(&ours_);
    sigset_t pending;
    sigpending(&pending);
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&pending, signal) != 1) sigaddset(&ours_, signal);
    }
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGPIPE);
    sigaddset(&both, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &both, &before_);
  }
  WriteSignalsHeld(const WriteSignalsHeld&) = delete;
  WriteSignalsHeld& operator=(const WriteSignalsHeld&) = delete;
  ~WriteSignalsHeld() {
    // The system call itself: the C library's function is a cancellation point.
    const timespec now{};
    while (::syscall(SYS_rt_sigtimedwait, &ours_, nullptr, &now, kKernelSetSize) > 0 ||
           errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  static constexpr std::size_t kKernelSetSize = 8;  // bytes: 64 signals
  sigset_t ours_;
  sigset_t before_;
};

}  // namespace

int raw_write(int fd, std::string_view text) noexcept {
  const int saved = errno;
  int error = 0;
  {
    const WriteSignalsHeld held;
    while (!text.empty()) {
      const long written = ::syscall(SYS_write, fd, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        error = written < 0 ? errno : EIO;
        break;
      }
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  errno = saved;
  return error;
}

}  // namespace cuvmm
