#include "emulator/say.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <iterator>

#include "emulator/system.h"

namespace cuvmm::emulator {

namespace {

std::atomic<bool> known{false};
std::atomic<dev_t> first_device{0};
std::atomic<ino_t> first_inode{0};

bool is_first_stderr(const struct stat& status) {
  return status.st_dev == first_device.load() && status.st_ino == first_inode.load();
}

/// Keeps the signals of a failed write from the program; they are the writing thread's.
class NoWriteSignals {
 public:
  NoWriteSignals() {
    sigemptyset(&ours_);
    for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&ours_, signal);
    pthread_sigmask(SIG_BLOCK, &ours_, &mask_);
    sigset_t pending;
    sigpending(&pending);
    // One that was pending before is the program's.
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&pending, signal) == 1) sigdelset(&ours_, signal);
    }
  }
  NoWriteSignals(const NoWriteSignals&) = delete;
  NoWriteSignals& operator=(const NoWriteSignals&) = delete;
  ~NoWriteSignals() {
    constexpr timespec kNow{};
    while (sigtimedwait(&ours_, nullptr, &kNow) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  sigset_t ours_;
  sigset_t mask_;
};

iovec part(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

void say(std::string_view text) noexcept {
  const int error = errno;
  remember_stderr();
  struct stat status {};
  const bool open = fstat(STDERR_FILENO, &status) == 0;
  const bool a_file = S_ISREG(status.st_mode) || S_ISBLK(status.st_mode);
  if (open && (is_first_stderr(status) || !a_file)) {
    const NoCancel guard;
    const NoWriteSignals no_signals;
    const iovec line[] = {part("cuvmm emulator: "), part(text), part("\n")};
    // What a full disk or pipe leaves out is lost.
    while (writev(STDERR_FILENO, line, std::size(line)) < 0 && errno == EINTR) {
    }
  }
  errno = error;
}

bool quiet() {
  const char* text = secure_getenv("CUVMM_QUIET");
  const std::string_view value = text ? text : "";
  return !value.empty() && value != "0" && value != "no" && value != "off";
}

// When the library is loaded; but a program's pre-initialisers may call before that.
__attribute__((constructor)) void at_load() { remember_stderr(); }

}  // namespace

void remember_stderr() noexcept {
  if (known.exchange(true)) return;
  struct stat status {};
  if (fstat(STDERR_FILENO, &status) != 0) return;
  first_device = status.st_dev;
  first_inode = status.st_ino;
}

void complain(std::string_view text) noexcept { say(text); }

void note(std::string_view text) noexcept {
  if (!quiet()) say(text);
}

}  // namespace cuvmm::emulator
