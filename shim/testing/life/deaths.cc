// SPDX-License-Identifier: Apache-2.0
// A program that is ended by a signal, or by its handler of one, while it holds a leak.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "life.h"

namespace {

// What it lost is behind it: it has made and used other memory since.
void lose_something() {
  life::init();
  life::leak();
  life::cycle();
}

int signalled(const char* signal) {
  lose_something();
  ::raise(std::atoi(signal));
  return 1;
}

// Nothing came after the leak but time.
int signalled_later(const char* signal) {
  life::init();
  life::leak();
  ::usleep(1'500'000);
  ::raise(std::atoi(signal));
  return 1;
}

// It is just at work with the memory.
int signalled_at_work(const char* signal) {
  life::init();
  life::cycle();
  life::leak();
  ::raise(std::atoi(signal));
  return 1;
}

int handler_exits(const char* how) {
  static bool now;
  now = std::strcmp(how, "_exit") == 0;
  lose_something();
  ::signal(SIGTERM, [](int) {
    if (now) ::_exit(3);
    std::exit(3);
  });
  ::raise(SIGTERM);
  return 1;
}

int child_signalled(const char* signal) {
  const pid_t child = ::fork();
  if (child == 0) return signalled(signal);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 12 : 13;
}

int abort_in_atexit(const char*) {
  life::init();
  life::leak();
  std::atexit([] { std::abort(); });
  return 1;
}

// main() sleeps, and a worker ends the program.
int exit_from_thread(const char*) {
  lose_something();
  std::thread([] {
    life::cycle();
    std::exit(3);
  }).detach();
  for (;;) ::pause();
}

constexpr life::Scenario kScenarios[] = {
    {"signalled", signalled},
    {"signalled-later", signalled_later},
    {"signalled-at-work", signalled_at_work},
    {"handler-exits", handler_exits},
    {"child-signalled", child_signalled},
    {"abort-in-atexit", abort_in_atexit},
    {"exit-from-thread", exit_from_thread},
};

}  // namespace

int main(int count, char** arguments) { return life::run(kScenarios, count, arguments); }
