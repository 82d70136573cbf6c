// SPDX-License-Identifier: Apache-2.0
#include "conformance/record/case_workers.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <span>
#include <sstream>

#include "conformance/record/tidy_driver.h"
#include "program/program_processes.h"
#include "program/run_program.h"

namespace cuvmm::conformance {

using program::Outcome;
using program::outcome_of_end;
using program::outcome_text;
using program::Program;
using program::ProgramProcesses;
using program::run_program;
using program::RunOptions;
using program::Statement;

namespace {

using Clock = std::chrono::steady_clock;

// A case may wait for the timeout of a call, and once more for the timeout of an exit.
constexpr int kTimeoutsPerCase = 3;

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> parts(1);
  for (char c : line) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// Whether a case may run in processes that other cases have used. Each of its processes must start
// with a plain init(). The case must not make or end a context, nor read state that other cases
// change, nor leave a graph, which would keep the addresses of its memory. A case that calls with a
// destroyed pool runs alone, because an H200's driver then writes to freed memory and dies later.
bool may_share_processes(const Case& test_case) {
  const Program& program = test_case.program;
  const auto wild = [](const std::string& rule) { return rule.ends_with("-pool-alive"); };
  if (std::any_of(test_case.breaks.begin(), test_case.breaks.end(), wild)) return false;
  static constexpr const char* kAlone[] = {"context", "cuMemGetInfo", "cuStreamEndCapture", "peek",
                                           "poke"};
  static constexpr const char* kHarmless[] = {"cuCtxSynchronize", "cuCtxSetCurrent",
                                              "cuCtxGetCurrent", "cuCtxGetDevice"};
  const auto among = [](const std::string& function, std::span<const char* const> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const char* name) { return function == name; });
  };
  std::set<int> started;
  return std::all_of(program.statements.begin(), program.statements.end(), [&](const Statement& s) {
    const bool first = started.insert(s.process).second;
    const bool contexts =
        s.function.starts_with("cuCtx") || s.function.starts_with("cuDevicePrimaryCtx");
    return (!first || (s.function == "init" && s.arguments.empty())) && s.thread == 0 &&
           !among(s.function, kAlone) && (!contexts || among(s.function, kHarmless));
  });
}

// Runs a worker's share of the cases, and writes one line "ID ID...\tOUTCOME\t..." per case.
[[noreturn]] void work(int out, const Driver& driver, const std::vector<const Case*>& share,
                       std::size_t first, const RecordOptions& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  {
    ProgramProcesses shared(driver, options.run, {tidy_driver, tidy_up});
    for (std::size_t i = first; i < share.size(); ++i) {
      const Program& program = share[i]->program;
      std::vector<int> ids;
      RunOptions one = options.run;
      one.process_ids = &ids;
      const auto outcomes = options.share && may_share_processes(*share[i])
                                ? shared.run(program)
                                : run_program(driver, program, one);
      std::string line;
      for (int id : ids) line += std::to_string(id) + ' ';
      for (const Outcome& outcome : outcomes) line += '\t' + outcome_text(outcome);
      line += '\n';
      if (write(out, line.data(), line.size()) != static_cast<ssize_t>(line.size())) break;
    }
  }
  std::_Exit(0);
}

/// The parent's view of one worker, and of its share of the cases.
class Worker {
 public:
  Worker(const Driver& driver, const RecordOptions& options, Recording& recording)
      : driver_(driver), options_(options), recording_(recording) {}

  std::vector<const Case*>& share() { return share_; }
  bool finished() const { return next_ == share_.size(); }
  int pipe() const { return pipe_; }
  Clock::time_point deadline() const { return deadline_; }

  void start() {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    if (options_.stderr_texts && errors_ < 0) errors_ = memfd_create("stderr", MFD_CLOEXEC);
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0) std::abort();
    if (pid_ == 0) {
      close(ends[0]);
      if (errors_ >= 0) dup2(errors_, STDERR_FILENO);
      work(ends[1], driver_, share_, next_, options_);
    }
    close(ends[1]);
    pipe_ = ends[0];
    pending_.clear();
    expect_answer();
  }

  void read_answers() {
    char buffer[4096];
    const ssize_t got = read(pipe_, buffer, sizeof buffer);
    if (got <= 0) return end(false);
    pending_.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t line; (line = pending_.find('\n')) != std::string::npos;) {
      take(pending_.substr(0, line));
      pending_.erase(0, line + 1);
    }
  }

  /// Handles a worker that has ended, or that hangs: its current case gets that outcome.
  void end(bool too_late) {
    if (too_late) kill(pid_, SIGKILL);
    close(pipe_);
    pipe_ = -1;
    int status = 0;
    waitpid(pid_, &status, 0);
    if (finished()) return;
    const Outcome how =
        too_late ? Outcome{Outcome::Status::kTimeout, {}, {}, {}} : outcome_of_end(status);
    Outcome not_run;
    not_run.detail = "its worker has ended (" + outcome_text(how) + ")";
    auto& answers = recording_.cases[current().name];
    answers.assign(current().program.statements.size(), outcome_text(not_run));
    if (!answers.empty()) answers.front() = outcome_text(how);
    take_stderr();
    ++next_;
    if (!finished()) start();
  }

 private:
  const Case& current() const { return *share_[next_]; }

  void expect_answer() { deadline_ = Clock::now() + options_.run.timeout * kTimeoutsPerCase; }

  void take(const std::string& line) {
    if (finished()) return;
    const auto fields = split(line, '\t');
    recording_.cases[current().name].assign(fields.begin() + 1, fields.end());
    std::istringstream ids(fields[0]);
    for (int id; ids >> id;) recording_.processes[current().name].push_back(id);
    take_stderr();
    ++next_;
    expect_answer();
  }

  // The worker's processes append to one file, so the text since the last case is the current
  // one's.
  void take_stderr() {
    char buffer[4096];
    for (ssize_t got; (got = pread(errors_, buffer, sizeof buffer, taken_)) > 0; taken_ += got)
      (*options_.stderr_texts)[current().name].append(buffer, static_cast<std::size_t>(got));
  }

  const Driver& driver_;
  const RecordOptions& options_;
  Recording& recording_;
  std::vector<const Case*> share_;
  std::size_t next_ = 0;  ///< index in the share of the worker's current case
  pid_t pid_ = -1;
  int pipe_ = -1;
  int errors_ = -1;  ///< the file that is the worker's stderr; -1: this process's stderr
  off_t taken_ = 0;  ///< bytes of it that earlier cases wrote
  std::string pending_;
  Clock::time_point deadline_;
};

}  // namespace

void run_in_workers(const Driver& driver, const std::vector<const Case*>& cases, int jobs,
                    const RecordOptions& options, Recording& recording) {
  const auto count = std::min(static_cast<std::size_t>(std::max(jobs, 1)), cases.size());
  std::vector<Worker> workers(count, Worker(driver, options, recording));
  for (std::size_t i = 0; i < cases.size(); ++i) workers[i % count].share().push_back(cases[i]);
  for (Worker& worker : workers) worker.start();
  for (;;) {
    std::vector<pollfd> waits;
    std::vector<Worker*> waiting;
    auto deadline = Clock::time_point::max();
    for (Worker& worker : workers) {
      if (worker.pipe() < 0) continue;
      waits.push_back({worker.pipe(), POLLIN, 0});
      waiting.push_back(&worker);
      deadline = std::min(deadline, worker.deadline());
    }
    if (waits.empty()) return;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (poll(waits.data(), waits.size(), std::max(0, static_cast<int>(left.count()))) < 0) continue;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].revents) {
        waiting[i]->read_answers();
      } else if (Clock::now() > waiting[i]->deadline()) {
        waiting[i]->end(true);
      }
    }
  }
}

}  // namespace cuvmm::conformance
