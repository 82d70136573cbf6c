// SPDX-License-Identifier: Apache-2.0
#include "tools/fail/runner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "tools/commands.h"
#include "tools/run/run.h"
#include "tools/standard_streams.h"
#include "tools/temporary_folder.h"

namespace cuvmm::tools {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPause{2};
constexpr std::chrono::seconds kGrace{2};
constexpr std::size_t kMostOutput = std::size_t{16} << 20;

struct Running {
  std::size_t job = 0;
  std::unique_ptr<TemporaryFolder> folder;
  Clock::time_point began;
  bool asked = false, killed = false;
};

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostOutput, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

void redirect(int to, const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd >= 0) ::dup2(fd, to);
}

// In the child: never returns.
[[noreturn]] void be_the_run(Job job, const std::string& folder) {
  ::setpgid(0, 0);
  // Ctrl-C is for us alone; `cuvmm run` hands on what comes then.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  redirect(STDOUT_FILENO, folder + "/stdout", O_WRONLY | O_CREAT | O_TRUNC);
  redirect(STDERR_FILENO, folder + "/stderr", O_WRONLY | O_CREAT | O_TRUNC);
  // Nobody looks at a run's last calls, or at what it holds meanwhile.
  ::setenv("CUVMM_RING", "off", 0);
  for (const auto& [name, value] : job.environment) ::setenv(name.c_str(), value.c_str(), 1);
  job.run.live = "off";
  job.run.reports = {folder + "/report.json"};
  job.run.fail_log = folder + "/logs";
  job.run.tree_file = folder + "/tree";
  int code = kExitFailure;
  try {
    code = run(std::move(job.run));
  } catch (const std::exception& error) {
    print_error("cuvmm: {}\n", error.what());
  }
  finish_output();
  ::_exit(code);
}

// "PID SIGNAL" of each process that a signal ended. Only what ends a process by its own doing is a
// crash: parents end their children by others.
int crash_signal(const std::string& tree) {
  std::istringstream lines(tree);
  long pid = 0;
  int signal = 0;
  while (lines >> pid >> signal) {
    for (const int crash : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP}) {
      if (signal == crash) return signal;
    }
  }
  return 0;
}

Outcome collect(const Running& running, int status) {
  const std::string& folder = running.folder->path();
  Outcome outcome;
  outcome.timed_out = running.asked;
  outcome.seconds = std::chrono::duration<double>(Clock::now() - running.began).count();
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.output = read_text(folder + "/stdout");
  const std::string tree = read_text(folder + "/tree");
  if (!running.asked) outcome.signal = crash_signal(tree);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/logs", error)) {
    const Json log = Json::parse(read_text(entry.path()), nullptr, false);
    if (log.is_object()) add_log(outcome, log);
  }
  const Json report = Json::parse(read_text(folder + "/report.json"), nullptr, false);
  if (report.is_object()) {
    add_report(outcome, report);
  } else if (!running.asked) {
    // A run that could not be made has said why.
    std::string why = read_text(folder + "/stderr");
    while (!why.empty() && why.back() == '\n') why.pop_back();
    outcome.trouble = why.empty() ? "there is no report" : why;
  }
  for (const ProcessLog& log : outcome.logs) {
    if (log.died && outcome.signal == 0 && !running.asked) outcome.signal = SIGABRT;
  }
  return outcome;
}

class Runner {
 public:
  Runner(const std::vector<Job>& jobs, double timeout_s) : jobs_(jobs), timeout_s_(timeout_s) {
    // What a run leaves behind when it is killed comes to us.
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
    const pid_t pid = ::fork();
    if (pid == 0) be_the_run(jobs_[job], folder);
    if (pid < 0) return false;
    ::setpgid(pid, pid);
    running_[pid] = std::move(running);
    return true;
  }

  std::size_t count() const { return running_.size(); }

  // Takes what has ended, and ends what takes too long.
  void look(const std::function<void(std::size_t, Outcome)>& done) {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = running_.find(pid);
      if (found == running_.end()) continue;  // what a killed run had left
      const Running ended = std::move(found->second);
      running_.erase(found);
      if (ended.killed) ::kill(-pid, SIGKILL);
      done(ended.job, collect(ended, status));
    }
    for (auto& [pid, running] : running_) {
      const auto took = Clock::now() - running.began;
      const auto limit = std::chrono::duration<double>(timeout_s_);
      if (took < limit) continue;
      if (!running.asked) {
        // `cuvmm run` hands it to the program, and then clears up.
        running.asked = true;
        ::kill(pid, SIGTERM);
      } else if (!running.killed && took > limit + kGrace) {
        running.killed = true;
        kill_tree(pid);
      }
    }
  }

 private:
  // A process's descendants, whatever groups they have made.
  static void kill_tree(pid_t pid) {
    std::ifstream children("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) +
                           "/children");
    for (pid_t child; children >> child;) kill_tree(child);
    ::kill(pid, SIGKILL);
  }

  const std::vector<Job>& jobs_;
  const double timeout_s_;
  std::map<pid_t, Running> running_;
};

}  // namespace

void run_jobs(const std::vector<Job>& jobs, int at_once, double timeout_s,
              const std::function<void(std::size_t, Outcome)>& done) {
  Runner runner(jobs, timeout_s);
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
