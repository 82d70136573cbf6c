// SPDX-License-Identifier: Apache-2.0
#include "tools/report/tree/group_witness.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tools/report/tree/proc_text.h"

namespace cuvmm::tools {

namespace {

// The pending signals of the process; bit N - 1 stands for signal N.
std::uint64_t pending(pid_t pid) {
  constexpr std::string_view kLine = "\nShdPnd:";
  const std::string text = proc_text("/proc/" + std::to_string(pid) + "/status");
  const std::size_t at = text.find(kLine);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + kLine.size(), nullptr, 16);
}

[[noreturn]] void wait_for_nothing(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // the parent ended before prctl() took effect
  // Closes all descriptors: a process that reads this command's output through a pipe would
  // otherwise wait until the witness ends.
  ::syscall(SYS_close_range, 0, UINT_MAX, 0);
  for (;;) ::pause();
}

}  // namespace

void GroupWitness::start() {
  const pid_t parent = ::getpid();
  // Like fork(), but the kernel sends no SIGCHLD when the child ends.
  pid_ = static_cast<pid_t>(::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (pid_ == 0) wait_for_nothing(parent);
}

void GroupWitness::end() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, __WCLONE);
}

bool GroupWitness::has_it_too(int signal) {
  if (pid_ <= 0) return false;
  constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 1'000'000};
  constexpr int kNaps = 10;  // the kernel signals the processes of a group one after the other
  const std::uint64_t mask = std::uint64_t{1} << (signal - 1);
  bool has = (pending(pid_) & mask) != 0;
  for (int i = 0; i < kNaps && !has; ++i) {
    ::nanosleep(&kNap, nullptr);
    has = (pending(pid_) & mask) != 0;
  }
  if (has) {
    end();
    start();
  }
  return has;
}

}  // namespace cuvmm::tools
