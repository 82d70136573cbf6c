// SPDX-License-Identifier: Apache-2.0
#include "tools/rack/ranks.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>

#include "tools/base/standard_streams.h"
#include "tools/command_line/commands.h"

namespace cuvmm::tools {

namespace {

using Clock = std::chrono::steady_clock;

std::string host_name(int host) { return fmt::format("host{}", host); }

// A TCP port that was free just now.
int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool good = socket >= 0 &&
                    ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                    ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (socket >= 0) ::close(socket);
  constexpr int kTorchrun = 29500;
  return good ? ntohs(address.sin_port) : kTorchrun;
}

/// One of a rank's two streams: the pipe, and the part of a line that has come so far.
class Stream {
 public:
  void open(int fd) { fd_ = fd; }
  int fd() const { return fd_; }
  /// Writes the lines that have come. `error`: to stderr.
  void read(const std::string& name, bool error) {
    char bytes[4096];
    const ssize_t got = ::read(fd_, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) return close(name, error);
    line_.append(bytes, static_cast<std::size_t>(got));
    for (std::size_t end; (end = line_.find('\n')) != std::string::npos;) {
      write(name, std::string_view(line_).substr(0, end), error);
      line_.erase(0, end + 1);
    }
  }
  void close(const std::string& name, bool error) {
    if (!line_.empty()) write(name, line_, error);
    line_.clear();
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  static void write(const std::string& name, std::string_view line, bool error) {
    if (error) {
      print_error("[{}] {}\n", name, line);
    } else {
      print_output("[{}] {}\n", name, line);
    }
  }
  int fd_ = -1;
  std::string line_;
};

struct Rank {
  std::string name;
  pid_t pid = -1;                 // -1: it has ended
  std::array<Stream, 2> streams;  // stdout, stderr
};

// The signal that asked this process to end; 0: none did.
volatile std::sig_atomic_t g_signal = 0;
void note_signal(int signal) { g_signal = signal; }
constexpr int kEndings[] = {SIGINT, SIGTERM, SIGHUP};

void set_endings(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  for (const int signal : kEndings) ::sigaction(signal, &action, nullptr);
}

[[noreturn]] void be_rank(const Rack& rack, int rank, int port, int out, int err) {
  for (const auto& [name, value] : rank_environment(rack, rank, port)) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  set_endings(SIG_DFL);
  // Needs rights that many users lack; NCCL_HOSTID tells the hosts apart as well.
  const std::string host = host_name(rank / rack.ranks);
  if (::unshare(CLONE_NEWUTS) == 0 && ::sethostname(host.c_str(), host.size()) != 0) {
    // The name of this machine stays.
  }
  const int none = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(none, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  std::vector<char*> words;
  for (const std::string& word : rack.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const int why = errno;
  ::dprintf(STDERR_FILENO, "%s: %s\n", words[0], std::strerror(why));
  constexpr int kNotFound = 127, kNotExecutable = 126;  // as a shell
  ::_exit(why == ENOENT ? kNotFound : kNotExecutable);
}

/// All ranks, from their start to their end.
class Ranks {
 public:
  explicit Ranks(const Rack& rack)
      : rack_(rack), ranks_(static_cast<std::size_t>(rack.hosts * rack.ranks)) {}

  bool start() {
    const int port = free_port();
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      Rank& rank = ranks_[i];
      const int number = static_cast<int>(i);
      rank.name = fmt::format("{} rank {}", host_name(number / rack_.ranks), number);
      int out[2], err[2];
      if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) return cannot("pipe");
      rank.pid = ::fork();
      if (rank.pid < 0) return cannot("fork");
      if (rank.pid == 0) be_rank(rack_, number, port, out[1], err[1]);
      ::close(out[1]);
      ::close(err[1]);
      rank.streams[0].open(out[0]);
      rank.streams[1].open(err[0]);
    }
    return true;
  }

  int wait() {
    while (alive() || open_streams()) {
      pass_output();
      if (const int signal = g_signal; signal != 0 && !ended_by_rack_) {
        ended_by_rack_ = true;
        first_name_ = "the rack";
        failed_at_ = Clock::now() - std::chrono::seconds(static_cast<int>(rack_.grace_s));
        kill_all(signal);
      }
      collect();
      if (failed_at_ && alive()) end_late_ranks();
      // A process that a rank left behind may hold its pipes for ever.
      if (!alive() && quiet_) break;
    }
    for (Rank& rank : ranks_) {
      for (int s = 0; s < 2; ++s)
        rank.streams[static_cast<std::size_t>(s)].close(rank.name, s == 1);
    }
    if (failures_ > 0) {
      print_error("cuvmm rack: {} of {} ranks failed; first {}: {}\n", failures_, ranks_.size(),
                  first_name_, end_text(first_status_));
    }
    return failures_ == 0 ? 0 : code_of(first_status_);
  }

  void kill_all(int signal) {
    for (const Rank& rank : ranks_) {
      if (rank.pid > 0) ::kill(rank.pid, signal);
    }
  }

 private:
  static bool cannot(const char* what) {
    print_error("cuvmm rack: {}: {}\n", what, std::strerror(errno));
    return false;
  }
  static int code_of(int status) {
    constexpr int kSignal = 128;
    return WIFSIGNALED(status) ? kSignal + WTERMSIG(status) : WEXITSTATUS(status);
  }
  static std::string end_text(int status) {
    return WIFSIGNALED(status) ? fmt::format("ended by signal {}", WTERMSIG(status))
                               : fmt::format("exit code {}", WEXITSTATUS(status));
  }
  bool alive() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.pid > 0; });
  }
  bool open_streams() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
      return rank.streams[0].fd() >= 0 || rank.streams[1].fd() >= 0;
    });
  }

  void pass_output() {
    std::vector<pollfd> polled;
    std::vector<std::pair<Rank*, std::size_t>> owners;
    for (Rank& rank : ranks_) {
      for (std::size_t s = 0; s < 2; ++s) {
        if (rank.streams[s].fd() < 0) continue;
        polled.push_back({rank.streams[s].fd(), POLLIN, 0});
        owners.emplace_back(&rank, s);
      }
    }
    constexpr int kLookAgainMs = 50;
    const int ready = ::poll(polled.data(), polled.size(), kLookAgainMs);
    quiet_ = ready <= 0;
    for (std::size_t i = 0; ready > 0 && i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      auto& [rank, s] = owners[i];
      rank->streams[s].read(rank->name, s == 1);
      // Both streams may be one file, where the lines stand in the order in which they came.
      finish_output();
    }
  }

  void collect() {
    bool first_now = false;  // whether the first failure is found at this look
    for (Rank& rank : ranks_) {
      int status = 0;
      if (rank.pid <= 0 || ::waitpid(rank.pid, &status, WNOHANG) != rank.pid) continue;
      rank.pid = -1;
      if (status == 0 || ended_by_rack_) continue;
      // Of ranks that are found at one look, one that was killed failed before those that missed
      // it.
      const bool earlier = first_now && WIFSIGNALED(status) && !WIFSIGNALED(first_status_);
      if (failures_++ == 0 || earlier) {
        first_name_ = rank.name;
        first_status_ = status;
        failed_at_ = Clock::now();
        first_now = true;
      }
    }
  }

  // The others may wait for the failed rank for ever.
  void end_late_ranks() {
    const std::chrono::duration<double> since = Clock::now() - *failed_at_;
    constexpr double kToEnd = 5;  // seconds after SIGTERM
    if (since.count() > rack_.grace_s + kToEnd) {
      kill_all(SIGKILL);
    } else if (since.count() > rack_.grace_s && !ended_by_rack_) {
      print_error("cuvmm rack: ends the ranks that still run, {} s after {} failed\n",
                  rack_.grace_s, first_name_);
      ended_by_rack_ = true;
      kill_all(SIGTERM);
    }
  }

  const Rack& rack_;
  std::vector<Rank> ranks_;
  bool quiet_ = false;
  bool ended_by_rack_ = false;
  int failures_ = 0, first_status_ = 0;
  std::string first_name_;
  std::optional<Clock::time_point> failed_at_;
};

}  // namespace

std::map<std::string, std::string> rank_environment(const Rack& rack, int rank, int port) {
  const int host = rank / rack.ranks;
  const auto text = [](int number) { return std::to_string(number); };
  std::map<std::string, std::string> all = {
      {"RANK", text(rank)},
      {"WORLD_SIZE", text(rack.hosts * rack.ranks)},
      {"LOCAL_RANK", text(rank % rack.ranks)},
      {"LOCAL_WORLD_SIZE", text(rack.ranks)},
      {"GROUP_RANK", text(host)},
      {"NODE_RANK", text(host)},
      {"MASTER_ADDR", "127.0.0.1"},
      {"MASTER_PORT", text(port)},
      {"NCCL_HOSTID", host_name(host)},
      {"CUVMM_HOST", fmt::format("{}/{}", host, rack.hosts)},
      {"CUVMM_SCOPE", fmt::format("{} rank {}", host_name(host), rank)}};
  if (!rack.outage.empty()) all["CUVMM_OUTAGE"] = rack.outage;
  return all;
}

int run_ranks(const Rack& rack) {
  set_endings(note_signal);
  Ranks ranks(rack);
  if (!ranks.start()) {
    ranks.kill_all(SIGKILL);
    return kExitFailure;
  }
  const int code = ranks.wait();
  if (const int signal = g_signal; signal != 0) {
    finish_output();
    set_endings(SIG_DFL);
    ::raise(signal);
  }
  return code;
}

}  // namespace cuvmm::tools
