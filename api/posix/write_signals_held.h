// SPDX-License-Identifier: Apache-2.0
// Keeps a write of cuvmm from ending the program that cuvmm is loaded into.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <initializer_list>

namespace cuvmm {

/// Blocks SIGPIPE (the pipe has no reader) and SIGXFSZ (RLIMIT_FSIZE) for the calling thread while
/// this object lives, and removes such a signal that a write in between raised. A signal that was
/// pending before belongs to the program and stays. Async-signal-safe, and no cancellation point.
class WriteSignalsHeld {
 public:
  WriteSignalsHeld() noexcept {
    sigset_t pending, both;
    sigpending(&pending);
    sigemptyset(&both);
    sigemptyset(&raised_here_);
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      sigaddset(&both, signal);
      if (sigismember(&pending, signal) != 1) sigaddset(&raised_here_, signal);
    }
    pthread_sigmask(SIG_BLOCK, &both, &before_);
  }
  WriteSignalsHeld(const WriteSignalsHeld&) = delete;
  WriteSignalsHeld& operator=(const WriteSignalsHeld&) = delete;
  ~WriteSignalsHeld() {
    // The system call itself, because the C library's function is a cancellation point.
    const timespec now{};
    while (::syscall(SYS_rt_sigtimedwait, &raised_here_, nullptr, &now, kKernelSetSize) > 0 ||
           errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  static constexpr std::size_t kKernelSetSize = 8;  // bytes: 64 signals
  sigset_t raised_here_;
  sigset_t before_;
};

}  // namespace cuvmm
