// SPDX-License-Identifier: Apache-2.0
#include "tools/report/tree/process_tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "tools/base/standard_streams.h"
#include "tools/report/tree/group_witness.h"

namespace cuvmm::tools {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kNoticeAfter = std::chrono::seconds(2);

// Blocks signals while the tree runs, so that none is lost between a check and a wait.
class BlockedSignals {
 public:
  /// `held`: the destructor leaves those blocked that would end this process.
  explicit BlockedSignals(bool held) : held_(held) {
    sigemptyset(&set_);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) {
      sigaddset(&set_, signal);
    }
    // Under an inherited SIG_IGN for SIGCHLD, the kernel keeps no status of an ended child.
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

// Forks, and executes the program in the child. A pipe brings back the error of a failed exec; a
// successful exec closes the pipe.
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
    // execvpe starts a script without `#!` line by /bin/sh, as shells do.
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

constexpr timespec kBetweenLooks = {0, 50'000'000};
constexpr std::uint64_t kLeastBetweenLooks = 10'000'000;  // also if many children end in that time

std::string folder_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

// Waits for every ended child. Returns whether any child is left. `before_ns`: the time of the call
// before this one.
bool reap(TreeResult& result, bool& main_running, ThreadLooks& looks, std::uint64_t before_ns) {
  for (;;) {
    siginfo_t ended{};
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      return false;
    }
    const pid_t pid = ended.si_pid;
    if (pid == 0) return true;
    if (pid == result.pid) {
      looks.look(folder_of(pid), before_ns);
      result.end = {before_ns, monotonic_ns(), looks.take()};
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
  GroupWitness witness;
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // if this fails, nobody waits for orphans
  result.pid = start(path, command, environment, signals, result.error_number);
  if (result.pid < 0) {
    result.error = std::strerror(result.error_number);
    return result;
  }

  bool main_running = true, noticed = false;
  Clock::time_point ended;
  ThreadLooks looks;
  std::uint64_t before_ns = monotonic_ns(), looked_ns = 0;
  for (;;) {
    const std::uint64_t now_ns = monotonic_ns();
    if (!reap(result, main_running, looks, before_ns)) break;
    before_ns = now_ns;
    if (now_ns - looked_ns >= kLeastBetweenLooks) {
      looked_ns = now_ns;
      if (main_running) looks.look(folder_of(result.pid), now_ns);
      if (options.look) options.look();
    }
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
    }
    siginfo_t info;
    const int signal = sigtimedwait(&signals.set(), &info, &kBetweenLooks);
    if (signal <= 0 || signal == SIGCHLD) continue;
    if (main_running) {
      // The program has the signal already if a terminal sent it (SI_KERNEL), because a terminal
      // signals the whole foreground group, and also if another process sent it to the group.
      const bool has_it =
          info.si_code > 0 || (::getpgid(result.pid) == ::getpgrp() && witness.has_it_too(signal));
      if (!has_it) kill(result.pid, signal);
    } else if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) {
      result.left_running = true;
      break;
    }
  }
  return result;
}

}  // namespace cuvmm::tools
