// SPDX-License-Identifier: Apache-2.0
#include "tools/live/keys.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace cuvmm::tools {

namespace {

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
volatile sig_atomic_t g_ended_by = 0;

void note_end(int signal) { g_ended_by = signal; }

bool in_foreground() {
  return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0 &&
         ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

}  // namespace

Keys::Keys() {
  if (!in_foreground() || ::tcgetattr(STDIN_FILENO, &before_) != 0) return;
  struct sigaction action {};
  action.sa_handler = &note_end;  // without SA_RESTART, so that a signal ends a wait
  for (const int signal : kEnding) ::sigaction(signal, &action, nullptr);
  termios now = before_;
  now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  now.c_cc[VMIN] = 1;
  now.c_cc[VTIME] = 0;
  on_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
}

Keys::~Keys() {
  if (on_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

char Keys::wait(double seconds) {
  if (!on_) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return 0;
  }
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const int ready = ::poll(&input, 1, static_cast<int>(std::clamp(seconds, 0.0, 1e6) * 1000));
  if (g_ended_by != 0) {
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(g_ended_by, &action, nullptr);
    ::raise(g_ended_by);
  }
  char key = 0;
  if (ready <= 0) return 0;
  // At the end of the input nobody can press a key, so the command ends.
  return ::read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';
}

}  // namespace cuvmm::tools
