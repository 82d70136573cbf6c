// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/children.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstring>
#include <exception>

#include "api/posix/raw_write.h"

namespace cuvmm::doctor {

namespace {

constexpr auto kTick = std::chrono::milliseconds(5);
constexpr auto kDying = std::chrono::seconds(1);  // a process in the kernel may outlive SIGKILL

// Runs `work` in the child. An exception of `work` ends the child with exit code 1; the parent then
// names the last step, as after a crash.
[[noreturn]] void live(int channel, int errors, const std::function<void(const Reporter&)>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const int null = open("/dev/null", O_RDWR);
  if (null >= 0) {
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
  }
  if (errors >= 0 || null >= 0) dup2(errors >= 0 ? errors : null, STDERR_FILENO);
  if (null > STDERR_FILENO) close(null);
  if (errors > STDERR_FILENO) close(errors);
  const Reporter reporter(channel);
  try {
    work(reporter);
  } catch (const std::exception& error) {
    raw_write(STDERR_FILENO, error.what());
    _exit(1);
  }
  _exit(0);
}

std::string first_line_of(int fd) {
  char buffer[512];
  const ssize_t count = pread(fd, buffer, sizeof buffer, 0);
  if (count <= 0) return "";
  const std::string_view text(buffer, static_cast<std::size_t>(count));
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

std::string Facts::text(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? "" : found->second;
}

std::optional<long long> Facts::number(const std::string& key) const {
  const std::string word = text(key);
  long long value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc{} || stop != word.data() + word.size()) {
    return std::nullopt;
  }
  return value;
}

std::string Ended::accident() const {
  const std::string where = step.empty() ? "" : " in " + step;
  switch (how) {
    case How::kNotStarted:
      return std::string("could not be started: ") + std::strerror(code);
    case How::kKilled:
      return "ended by signal " + std::to_string(code) + " (" + strsignal(code) + ")" + where;
    case How::kTimeout:
      return "did not come back" + where + " within " + std::to_string(std::lround(seconds)) + " s";
    case How::kExited:
      break;
  }
  if (code == 0) return "";
  return "ended the process with exit code " + std::to_string(code) + where +
         (first_error.empty() ? "" : ": " + first_error);
}

void Reporter::line(std::string_view key, std::string_view value) const {
  std::string text(key);
  text += '=';
  text += value;
  std::replace(text.begin(), text.end(), '\n', ' ');
  text += '\n';
  raw_write(fd_, text);
}

void Children::start(const std::string& name, const std::function<void(const Reporter&)>& work) {
  Child child;
  child.name = name;
  child.start = Clock::now();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    child.ended.code = errno;
    child.over = true;
    children_.push_back(std::move(child));
    return;
  }
  child.errors = memfd_create("stderr", MFD_CLOEXEC);
  child.pid = fork();
  if (child.pid == 0) {
    close(ends[0]);
    for (const Child& other : children_) {  // the parent's ends of the other children
      if (other.channel >= 0) close(other.channel);
      if (other.errors >= 0) close(other.errors);
    }
    live(ends[1], child.errors, work);
  }
  if (child.pid < 0) {
    child.ended.code = errno;
    child.over = true;
    close(ends[0]);
  } else {
    child.channel = ends[0];
    fcntl(child.channel, F_SETFL, O_NONBLOCK);
  }
  close(ends[1]);
  children_.push_back(std::move(child));
}

void Children::take_lines(Child& child) {
  if (child.channel < 0) return;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(child.channel, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      if (count == 0) {
        close(child.channel);
        child.channel = -1;
      }
      break;
    }
    child.unread.append(buffer, static_cast<std::size_t>(count));
  }
  for (std::size_t end; (end = child.unread.find('\n')) != std::string::npos;) {
    const std::string line = child.unread.substr(0, end);
    child.unread.erase(0, end + 1);
    const std::size_t equals = line.find('=');
    const std::string key = line.substr(0, equals), value = line.substr(equals + 1);
    if (key == "step") {
      child.ended.step = value;
    } else {
      child.ended.facts.set(key, value);
    }
  }
}

void Children::finish(Child& child) {
  take_lines(child);
  child.over = true;
  child.ended.seconds = std::chrono::duration<double>(Clock::now() - child.start).count();
  if (child.errors >= 0) child.ended.first_error = first_line_of(child.errors);
  if (child.channel >= 0) close(child.channel);
  if (child.errors >= 0) close(child.errors);
  child.channel = child.errors = -1;
}

std::map<std::string, Ended> Children::wait(std::chrono::milliseconds limit) {
  for (bool waiting = true; waiting;) {
    waiting = false;
    std::vector<pollfd> channels;
    for (Child& child : children_) {
      if (child.over) continue;
      take_lines(child);
      int status = 0;
      const pid_t ended = waitpid(child.pid, &status, WNOHANG);
      if (ended == child.pid) {
        // wait() itself killed a child whose end is kTimeout, so that end stays.
        if (child.ended.how != Ended::How::kTimeout) {
          const bool killed = WIFSIGNALED(status);
          child.ended.how = killed ? Ended::How::kKilled : Ended::How::kExited;
          child.ended.code = killed ? WTERMSIG(status) : WEXITSTATUS(status);
        }
        finish(child);
        continue;
      }
      const auto age = Clock::now() - child.start;
      if (age > limit && child.ended.how != Ended::How::kTimeout) {
        child.ended.how = Ended::How::kTimeout;
        kill(child.pid, SIGKILL);
      } else if (age > limit + kDying) {
        finish(child);  // SIGKILL cannot end it while it hangs in the kernel; init inherits it
        continue;
      }
      waiting = true;
      if (child.channel >= 0) channels.push_back({child.channel, POLLIN, 0});
    }
    if (waiting) {
      poll(channels.data(), channels.size(),
           static_cast<int>(std::chrono::milliseconds(kTick).count()));
    }
  }
  std::map<std::string, Ended> results;
  for (Child& child : children_) results[child.name] = std::move(child.ended);
  children_.clear();
  return results;
}

}  // namespace cuvmm::doctor
