// SPDX-License-Identifier: Apache-2.0
#include "tools/report/process_tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <utility>

#include "tools/standard_streams.h"

namespace cuvmm::tools {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kNoticeAfter = std::chrono::seconds(2);

// Signals blocked while the tree runs, so that none is lost between a check and a wait.
class BlockedSignals {
 public:
  /// `held`: those that would end this process stay blocked at the end.
  explicit BlockedSignals(bool held) : held_(held) {
    sigemptyset(&set_);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) {
      sigaddset(&set_, signal);
    }
    // An inherited SIG_IGN for SIGCHLD would make children vanish without a status.
    struct sigaction fallback = {};
    fallback.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &fallback, &child_action_);
    sigprocmask(SIG_BLOCK, &set_, &mask_);
  }
  ~BlockedSignals() {
    sigset_t after = mask_;
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
      if (held_) sigaddset(&after, signal);
    }
    sigaction(SIGCHLD, &child_action_, nullptr);
    sigprocmask(SIG_SETMASK, &after, nullptr);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  void restore() const {
    sigaction(SIGCHLD, &child_action_, nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  const sigset_t& set() const { return set_; }

 private:
  const bool held_;
  sigset_t set_;
  sigset_t mask_;
  struct sigaction child_action_;
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& string : strings) result.push_back(const_cast<char*>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

// Forks and executes; the error of a failed exec comes back through a pipe that exec closes.
pid_t start(const std::string& path, const std::vector<std::string>& command,
            const std::vector<std::string>& environment, const BlockedSignals& signals,
            int& error) {
  std::vector<char*> argv = pointers(command), envp = pointers(environment);
  int channel[2];
  error = 0;
  if (pipe2(channel, O_CLOEXEC) != 0) {
    error = errno;
    return -1;
  }
  const pid_t pid = fork();
  if (pid == 0) {
    signals.restore();
    // execvpe, because it hands a script without `#!` line to /bin/sh, as shells do.
    execvpe(path.c_str(), argv.data(), envp.data());
    error = errno;
    [[maybe_unused]] const ssize_t written = write(channel[1], &error, sizeof(error));
    _exit(127);
  }
  if (pid < 0) error = errno;
  close(channel[1]);
  int child_error = 0;
  ssize_t count;
  do {
    count = pid < 0 ? 0 : read(channel[0], &child_error, sizeof(child_error));
  } while (count < 0 && errno == EINTR);
  close(channel[0]);
  if (count == static_cast<ssize_t>(sizeof(child_error))) {
    error = child_error;
    waitpid(pid, nullptr, 0);
    return -1;
  }
  return pid;
}

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

// Again and again while the program runs. How long it waits is counted when it has got a processor,
// so the look that counts is the one when it has ended.
class Looks {
 public:
  void look(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/schedstat");
    std::uint64_t ran = 0, waited = 0;
    // All are 0 where the kernel does not count.
    if (!(file >> ran >> waited) || ran == 0) return;
    if (looks_.size() == kMost) looks_.erase(looks_.begin());
    looks_.push_back({now_ns(), waited});
  }
  std::vector<ThreadLook> take() { return std::move(looks_); }

 private:
  static constexpr std::size_t kMost = 32;
  std::vector<ThreadLook> looks_;
};
constexpr timespec kBetweenLooks = {0, 50'000'000};

// Takes every ended child; returns whether any child is left.
bool reap(TreeResult& result, bool& main_running, Looks& looks) {
  for (;;) {
    siginfo_t ended{};
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      return false;
    }
    const pid_t pid = ended.si_pid;
    if (pid == 0) return true;
    ProcessEnd& end = result.ended[pid] = {now_ns()};
    if (pid == result.pid) {
      looks.look(pid);
      end.looks = looks.take();
    }
    int status = 0;
    if (waitpid(pid, &status, 0) != pid) continue;
    if (WIFSIGNALED(status)) result.signals[pid] = WTERMSIG(status);
    if (pid != result.pid) continue;
    main_running = false;
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result.exit_code = result.signal ? 128 + result.signal : WEXITSTATUS(status);
  }
}

}  // namespace

TreeResult run_tree(const std::string& path, const std::vector<std::string>& command,
                    const std::vector<std::string>& environment, const TreeOptions& options) {
  TreeResult result;
  const BlockedSignals signals(options.hold_signals);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // best effort: without it, orphans are not waited for
  result.pid = start(path, command, environment, signals, result.error_number);
  if (result.pid < 0) {
    result.error = std::strerror(result.error_number);
    return result;
  }

  bool main_running = true, noticed = false;
  Clock::time_point ended;
  Looks looks;
  while (reap(result, main_running, looks)) {
    timespec pause = kBetweenLooks;
    if (main_running) looks.look(result.pid);
    if (!main_running) {
      if (ended == Clock::time_point{}) ended = Clock::now();
      const std::chrono::duration<double> waited = Clock::now() - ended;
      if (options.wait_s >= 0 && waited.count() >= options.wait_s) {
        result.left_running = true;
        break;
      }
      if (!noticed && waited >= kNoticeAfter) {
        noticed = true;
        if (!options.quiet) {
          print_error(
              "cuvmm: the program has ended; waiting for processes that it left "
              "running (--wait SECONDS or Ctrl-C ends that)\n");
        }
      }
      pause = {0, 100'000'000};
    }
    siginfo_t info;
    const int signal = sigtimedwait(&signals.set(), &info, &pause);
    if (signal <= 0 || signal == SIGCHLD) continue;
    if (main_running) {
      // From a terminal (SI_KERNEL) the whole foreground group, the program too, has it already.
      if (info.si_code <= 0) kill(result.pid, signal);
    } else if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) {
      result.left_running = true;
      break;
    }
  }
  return result;
}

}  // namespace cuvmm::tools
