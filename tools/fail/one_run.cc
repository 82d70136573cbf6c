// SPDX-License-Identifier: Apache-2.0
#include "tools/fail/one_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"
#include "tools/report/report_merge.h"
#include "tools/run/run.h"

namespace cuvmm::tools {

namespace {

constexpr std::size_t kMostOutput = std::size_t{16} << 20;
constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};

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

// Whether the signal is one that a process brings upon itself. Other signals are no crash, because
// parents end their children by them.
bool is_crash(int signal) {
  return std::find(std::begin(kCrashes), std::end(kCrashes), signal) != std::end(kCrashes);
}

// `tree` has a line "PID SIGNAL" for each process that a signal ended. Returns the first signal
// that is a crash; 0 if none is.
int crash_signal(const std::string& tree) {
  std::istringstream lines(tree);
  long pid = 0;
  int signal = 0;
  while (lines >> pid >> signal) {
    if (is_crash(signal)) return signal;
  }
  return 0;
}

// Reads the files that both kinds of runs leave.
Outcome collect(const std::string& folder, const RunEnd& end) {
  Outcome outcome;
  outcome.timed_out = end.timed_out;
  outcome.seconds = end.seconds;
  outcome.exit_code = WIFEXITED(end.status) ? WEXITSTATUS(end.status) : 128 + WTERMSIG(end.status);
  outcome.output = read_text(folder + "/stdout");
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/logs", error)) {
    const Json log = Json::parse(read_text(entry.path()), nullptr, false);
    if (log.is_object()) add_log(outcome, log);
  }
  return outcome;
}

// Counts a process whose log says that it died as crashed, if no other signal is known: the logs
// know more processes than the file of signals.
void note_deaths(Outcome& outcome) {
  for (const ProcessLog& log : outcome.logs) {
    if (log.died && outcome.signal == 0 && !outcome.timed_out) outcome.signal = SIGABRT;
  }
}

}  // namespace

[[noreturn]] void be_the_run(Job job, const std::string& folder) {
  ::setpgid(0, 0);
  // The run has a group of its own, so Ctrl-C reaches only `cuvmm fail`. When `cuvmm fail` ends,
  // the run gets SIGTERM, which `cuvmm run` passes on to the program.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  redirect(STDOUT_FILENO, folder + "/stdout", O_WRONLY | O_CREAT | O_TRUNC);
  redirect(STDERR_FILENO, folder + "/stderr", O_WRONLY | O_CREAT | O_TRUNC);
  // The run writes no ring and no live file, because nobody reads them.
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

Outcome collect_run(const std::string& folder, const RunEnd& end) {
  Outcome outcome = collect(folder, end);
  if (!end.timed_out) outcome.signal = crash_signal(read_text(folder + "/tree"));
  const Json report = Json::parse(read_text(folder + "/report.json"), nullptr, false);
  if (report.is_object()) {
    add_report(outcome, report);
  } else if (!end.timed_out) {
    // If the run could not be started, `cuvmm run` wrote the reason to stderr.
    std::string why = read_text(folder + "/stderr");
    while (!why.empty() && why.back() == '\n') why.pop_back();
    outcome.trouble = why.empty() || WIFSIGNALED(end.status) ? "there is no report" : why;
  }
  note_deaths(outcome);
  return outcome;
}

Outcome collect_forked(const std::string& folder, pid_t pid, const RunEnd& end) {
  Outcome outcome = collect(folder, end);
  Endings endings;
  if (WIFSIGNALED(end.status)) endings.signals[pid] = WTERMSIG(end.status);
  if (!end.timed_out && WIFSIGNALED(end.status) && is_crash(WTERMSIG(end.status))) {
    outcome.signal = WTERMSIG(end.status);
  }
  add_report(outcome, merge_reports(read_reports(folder + "/reports", pid), {}, endings).value);
  note_deaths(outcome);
  return outcome;
}

void kill_tree(pid_t pid) {
  std::ifstream children("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) +
                         "/children");
  for (pid_t child; children >> child;) kill_tree(child);
  ::kill(pid, SIGKILL);
}

}  // namespace cuvmm::tools
