// SPDX-License-Identifier: Apache-2.0
#include "tools/fail/runner.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "tools/base/temporary_folder.h"
#include "tools/fail/fork_server.h"
#include "tools/fail/one_run.h"

namespace cuvmm::tools {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause{2};
constexpr std::chrono::seconds kGrace{2};

struct Running {
  std::size_t job = 0;
  std::unique_ptr<TemporaryFolder> folder;
  Clock::time_point began;
  bool asked = false, killed = false;
};

class Runner {
 public:
  Runner(const std::vector<Job>& jobs, double timeout_s, ForkServer* server)
      : jobs_(jobs), timeout_s_(timeout_s), server_(server) {
    // The processes that a killed run leaves behind become children of this process, so that look()
    // can wait for them.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  }

  bool start(std::size_t job) {
    Running running;
    running.job = job;
    running.folder = std::make_unique<TemporaryFolder>();
    const std::string folder = running.folder->path();
    std::error_code error;
    if (folder.empty() || !std::filesystem::create_directory(folder + "/logs", error)) return false;
    running.began = Clock::now();
    const pid_t pid = begin(job, folder);
    if (pid < 0) return false;
    running_[pid] = std::move(running);
    return true;
  }

  std::size_t count() const { return running_.size(); }

  // Hands the outcome of each ended run to `done`, and ends runs that take too long.
  void look(const std::function<void(std::size_t, Outcome)>& done) {
    while (const auto ended = next_ended()) {
      const auto [pid, status] = *ended;
      const auto found = running_.find(pid);
      if (found == running_.end()) continue;  // a process that a killed run left behind
      const Running run = std::move(found->second);
      running_.erase(found);
      // After a SIGTERM, `cuvmm run` ends the processes of its program. A run of a fork server has
      // no `cuvmm run` above it, so its group is killed here.
      if (run.killed || (server_ && run.asked)) ::kill(-pid, SIGKILL);
      done(run.job, outcome_of(run, pid, status));
    }
    for (auto& [pid, running] : running_) {
      const auto took = Clock::now() - running.began;
      const auto limit = std::chrono::duration<double>(timeout_s_);
      if (took < limit) continue;
      if (!running.asked) {
        // `cuvmm run` passes the signal on to the program, and then ends its other processes.
        running.asked = true;
        ::kill(pid, SIGTERM);
      } else if (!running.killed && took > limit + kGrace) {
        running.killed = true;
        kill_tree(pid);
      }
    }
  }

 private:
  Outcome outcome_of(const Running& run, pid_t pid, int status) const {
    const std::chrono::duration<double> took = Clock::now() - run.began;
    const RunEnd end{status, took.count(), run.asked};
    if (!server_) return collect_run(run.folder->path(), end);
    Outcome outcome = collect_forked(run.folder->path(), pid, end);
    if (server_->lost()) outcome.trouble = "the program that is forked for each run has ended";
    return outcome;
  }

  pid_t begin(std::size_t job, const std::string& folder) {
    std::error_code error;
    if (server_) {
      if (!std::filesystem::create_directory(folder + "/reports", error)) return -1;
      return server_->start(folder, jobs_[job].run.fail);
    }
    const pid_t pid = ::fork();
    if (pid == 0) be_the_run(jobs_[job], folder);
    if (pid > 0) ::setpgid(pid, pid);
    return pid;
  }

  // The pid of a run that has ended, and its status. Does not wait.
  std::optional<std::pair<pid_t, int>> next_ended() {
    int status = 0;
    if (server_) {
      const auto ended = server_->ended();
      // The runs of a lost server have ended with it.
      if (!ended && server_->lost() && !running_.empty())
        return std::pair{running_.begin()->first, 0};
      return ended;
    }
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return std::nullopt;
    return std::pair{pid, status};
  }

  const std::vector<Job>& jobs_;
  const double timeout_s_;
  ForkServer* const server_;
  std::map<pid_t, Running> running_;
};

}  // namespace

void run_jobs(const std::vector<Job>& jobs, int at_once, double timeout_s,
              const std::function<void(std::size_t, Outcome)>& done, ForkServer* server) {
  Runner runner(jobs, timeout_s, server);
  std::size_t next = 0;
  while (next < jobs.size() || runner.count() != 0) {
    while (next < jobs.size() && runner.count() < static_cast<std::size_t>(at_once)) {
      if (!runner.start(next)) {
        Outcome outcome;
        outcome.trouble = std::string("a run could not be started: ") + std::strerror(errno);
        done(next, std::move(outcome));
      }
      ++next;
    }
    runner.look(done);
    const timespec pause{0, std::chrono::nanoseconds(kPause).count()};
    if (runner.count() != 0) ::nanosleep(&pause, nullptr);
  }
}

}  // namespace cuvmm::tools
