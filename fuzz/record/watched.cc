// SPDX-License-Identifier: Apache-2.0
#include "fuzz/record/watched.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace cuvmm::fuzz {

namespace {

/// Waits for the child. Returns whether it died, or hung in one program and was killed.
bool died(pid_t pid, const Progress& progress) {
  constexpr auto kPatience = std::chrono::seconds(10);
  std::uint64_t seen = progress.program;
  auto since = Clock::now();
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    usleep(2000);
    if (progress.program != seen) seen = progress.program, since = Clock::now();
    if (Clock::now() - since < kPatience) continue;
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return true;
  }
  return WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == kPeerLost);
}

}  // namespace

void* shared_with_children(std::size_t size) {
  void* shared = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return shared == MAP_FAILED ? nullptr : shared;
}

void stop(Progress& progress, const std::string& error) {
  error.copy(progress.error, sizeof progress.error - 1);
  _exit(3);
}

void put(Progress& progress, int file, const std::string& bytes) {
  if (write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    stop(progress, "the output cannot be written");
  }
}

RecordSummary record_watched(const RecordOptions& options, const Watched& watched) {
  RecordSummary out;
  const auto begin = Clock::now();
  const auto end = begin + options.time;
  const int file = open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) {
    out.error = "cannot write " + options.output;
    return out;
  }
  Progress& progress = watched.progress;
  constexpr unsigned kMostRestarts = 200;
  while (!progress.finished && out.restarts < kMostRestarts && Clock::now() < end) {
    const pid_t pid = fork();
    if (pid == 0) watched.work(file, end);
    if (pid < 0) break;
    const bool dead = died(pid, progress);
    if (progress.error[0]) {
      out.error = progress.error;
      break;
    }
    if (progress.finished) break;
    ++out.restarts;
    if (!dead) continue;  // the child asked for a new process
    const std::string words = watched.last_words();
    if (write(file, words.data(), words.size()) < 0) break;
    ++progress.program;
  }
  close(file);
  out.programs = progress.program;
  out.calls = progress.calls;
  out.succeeded = progress.succeeded;
  out.left_out = progress.left_out;
  out.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return out;
}

}  // namespace cuvmm::fuzz
