// SPDX-License-Identifier: Apache-2.0
// A program that a signal ends, or that its handler of a signal ends, while it holds a leak.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "life.h"

namespace {

// How often the process has waited; -1: not known.
long waits_of(const char* pid) {
  std::ifstream status("/proc/" + std::string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    constexpr std::string_view kName = "voluntary_ctxt_switches:";
    if (line.starts_with(kName)) return std::atol(line.c_str() + kName.size());
  }
  return -1;
}

// Waits until cuvmm cannot take the last call for work in progress, and until `cuvmm run` has
// looked at its processes since then: it sleeps between two looks. On a busy machine that takes a
// while.
void until_seen_idle() {
  const char* const run = std::getenv("CUVMM_RUN");
  if (!run) return;
  const std::string pid(run, std::strspn(run, "0123456789"));
  ::usleep(700'000);
  const long before = waits_of(pid.c_str());
  while (before >= 0 && waits_of(pid.c_str()) < before + 3) ::usleep(10'000);
}

// Leaks memory, and then makes and uses other memory, so that the leak is not in use.
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

// Only time passes after the leak.
int signalled_later(const char* signal) {
  life::init();
  life::leak();
  until_seen_idle();
  ::raise(std::atoi(signal));
  return 1;
}

// The program seems to be at work with the leaked memory.
int signalled_at_work(const char* signal) {
  life::init();
  life::cycle();
  life::leak();
  ::raise(std::atoi(signal));
  return 1;
}

// The program holds memory that is no leak.
int signalled_with_memory(const char* signal) {
  life::init();
  for (int i = 0; i < 2; ++i) {
    CUdeviceptr memory = 0;
    life::must(cuMemAlloc(&memory, life::kPage));
  }
  ::raise(std::atoi(signal));
  return 1;
}

int exec_with_memory(const char*) {
  life::init();
  CUdeviceptr memory = 0;
  life::must(cuMemAlloc(&memory, life::kPage));
  ::execl("/bin/true", "true", nullptr);
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

// Its parent ends it, and waits for it, long after its last call.
int child_ended_by_parent(const char* signal) {
  int ready[2];
  if (::pipe(ready) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    life::init();
    life::leak();
    [[maybe_unused]] const ssize_t written = ::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte;
  if (::read(ready[0], &byte, 1) != 1) return 1;
  until_seen_idle();
  ::kill(child, std::atoi(signal));
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 12 : 13;
}

// The parent does not wait for the child for long: the child has ended all the same.
int child_at_work_stays_dead(const char* signal) {
  const pid_t child = ::fork();
  if (child == 0) return signalled_at_work(signal);
  until_seen_idle();
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 12 : 13;
}

// The child is stopped in the middle of its work, and does not go on.
int child_stopped_at_work(const char* signal) {
  const pid_t child = ::fork();
  if (child == 0) {
    life::init();
    life::cycle();
    life::leak();
    ::raise(SIGSTOP);
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  until_seen_idle();
  ::kill(child, std::atoi(signal));
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 12 : 13;
}

int exec_self(const char* scenario, const char* argument) {
  ::execl("/proc/self/exe", "deaths", scenario, argument, nullptr);
  return 1;
}

int exec_then_signalled(const char* signal) {
  life::init();
  life::cycle();
  return exec_self("signalled-later", signal);
}

int leak_then_exec(const char*) {
  life::init();
  life::leak();
  ::execl("/bin/true", "true", nullptr);
  return 1;
}

int leak_and_return(const char*) {
  life::init();
  life::leak();
  return 0;
}

int leak_in_both(const char*) {
  life::init();
  life::leak();
  return exec_self("leak-and-return", "");
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
    {"signalled-with-memory", signalled_with_memory},
    {"exec-with-memory", exec_with_memory},
    {"handler-exits", handler_exits},
    {"child-signalled", child_signalled},
    {"child-ended-by-parent", child_ended_by_parent},
    {"child-at-work-stays-dead", child_at_work_stays_dead},
    {"child-stopped-at-work", child_stopped_at_work},
    {"exec-then-signalled", exec_then_signalled},
    {"leak-then-exec", leak_then_exec},
    {"leak-and-return", leak_and_return},
    {"leak-in-both", leak_in_both},
    {"abort-in-atexit", abort_in_atexit},
    {"exit-from-thread", exit_from_thread},
};

}  // namespace

int main(int count, char** arguments) { return life::run(kScenarios, count, arguments); }
