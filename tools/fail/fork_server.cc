// SPDX-License-Identifier: Apache-2.0
#include "tools/fail/fork_server.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "injected_failures/fork_protocol.h"
#include "tools/fail/one_run.h"

namespace cuvmm::tools {

namespace {

constexpr int kLookMs = 20;

int listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd, 1) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

}  // namespace

ForkServer::ForkServer(Job job) {
  const std::string path = folder_.path() + "/socket";
  std::error_code error;
  const bool made =
      !folder_.path().empty() && std::filesystem::create_directory(folder_.path() + "/logs", error);
  const int listening = made ? listen_at(path) : -1;
  if (listening < 0) {
    problem_ = fmt::format("no socket for it: {}", std::strerror(errno));
    return;
  }
  job.environment.emplace_back("CUVMM_FORK_SERVER", path);
  server_ = ::fork();
  if (server_ == 0) be_the_run(std::move(job), folder_.path());
  problem_ = server_ < 0 ? std::strerror(errno) : wait_for_hello(listening);
  ::close(listening);
}

std::string ForkServer::wait_for_hello(int listening) {
  ::setpgid(server_, server_);
  while (fd_ < 0) {
    pollfd ready{listening, POLLIN, 0};
    if (::poll(&ready, 1, kLookMs) > 0) fd_ = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    int status = 0;
    if (fd_ < 0 && ::waitpid(server_, &status, WNOHANG) == server_) {
      server_ = -1;
      return "the program ends without a call of cuInit or cuvmm_fork_point() that could be waited "
             "at";
    }
  }
  injected_failures::ForkMessage hello;
  if (::recv(fd_, &hello, sizeof hello, 0) != sizeof hello) return "the program has ended";
  if (hello.value != 1) {
    return fmt::format(
        "the program has {} threads when it calls {}, and they do not survive a fork", hello.value,
        hello.kind == injected_failures::ForkMessage::kAtPoint ? "cuvmm_fork_point()" : "cuInit");
  }
  return "";
}

ForkServer::~ForkServer() {
  if (fd_ >= 0) ::close(fd_);
  if (server_ < 0) return;
  // The program ends by itself when the socket is closed. SIGTERM ends a program that never came to
  // its fork point, and kill_tree() ends a program that stays in spite of both.
  if (!problem_.empty()) ::kill(server_, SIGTERM);
  constexpr int kPatience = 100;
  for (int i = 0; i < kPatience; ++i) {
    if (::waitpid(server_, nullptr, WNOHANG) == server_) return;
    ::poll(nullptr, 0, kLookMs);
  }
  kill_tree(server_);
  ::waitpid(server_, nullptr, 0);
}

pid_t ForkServer::start(const std::string& folder, const std::string& spec) {
  const std::string request = folder + '\0' + spec;
  errno = EMSGSIZE;
  if (request.size() >= injected_failures::kMostForkRequest) return -1;
  errno = EPIPE;
  if (lost_ || ::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    lost_ = true;
    return -1;
  }
  injected_failures::ForkMessage message;
  while (::recv(fd_, &message, sizeof message, 0) == sizeof message) {
    if (message.kind == injected_failures::ForkMessage::kEnded) {
      ended_.emplace_back(message.pid, message.value);
    } else if (message.kind == injected_failures::ForkMessage::kStarted) {
      errno = message.value;
      return message.pid;
    }
  }
  lost_ = true;
  errno = EPIPE;
  return -1;
}

std::optional<std::pair<pid_t, int>> ForkServer::ended() {
  injected_failures::ForkMessage message;
  while (!lost_) {
    const ssize_t got = ::recv(fd_, &message, sizeof message, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got != sizeof message) lost_ = true;
    if (!lost_ && message.kind == injected_failures::ForkMessage::kEnded) {
      ended_.emplace_back(message.pid, message.value);
    }
  }
  if (ended_.empty()) return std::nullopt;
  const auto one = ended_.back();
  ended_.pop_back();
  return one;
}

}  // namespace cuvmm::tools
