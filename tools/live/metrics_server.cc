// SPDX-License-Identifier: Apache-2.0
#include "tools/live/metrics_server.h"

#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "tools/base/standard_streams.h"
#include "tools/command_line/usage.h"

namespace cuvmm::tools {

namespace {

constexpr std::size_t kMostRequest = 8192;
constexpr timeval kPatience{5, 0};  // with a client that sends or reads nothing

struct Descriptor {
  explicit Descriptor(int number) : fd(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  int fd;
};

// "127.0.0.1:9400", "[::1]:9400", ":9400".
std::pair<std::string, std::string> parts(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size())
    throw UsageError{"--listen: '" + address + "' is no HOST:PORT, such as 127.0.0.1:9400"};
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) host = "127.0.0.1";
  return {host, address.substr(colon + 1)};
}

int listen_at(const std::string& address) {
  const auto [host, port] = parts(address);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int wrong = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (wrong != 0) throw UsageError{"--listen: '" + address + "': " + ::gai_strerror(wrong)};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* one = found; one; one = one->ai_next) {
    const int fd = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (fd < 0) continue;
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(fd, one->ai_addr, one->ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0) return fd;
    error = errno;
    ::close(fd);
  }
  throw UsageError{"--listen: '" + address + "': " + std::strerror(error)};
}

std::string bound_to(int fd) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  char host[NI_MAXHOST] = {}, port[NI_MAXSERV] = {};
  auto* const name = reinterpret_cast<sockaddr*>(&at);
  if (::getsockname(fd, name, &size) != 0 ||
      ::getnameinfo(name, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  const bool six = std::string_view(host).find(':') != std::string_view::npos;
  return six ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

// The head of the request; "" if the client sends no whole one.
std::string request(int fd) {
  std::string text;
  char piece[1024];
  while (text.find("\r\n\r\n") == std::string::npos && text.size() < kMostRequest) {
    const ssize_t got = ::recv(fd, piece, sizeof piece, 0);
    if (got <= 0) return "";
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

void send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void answer(int fd, const std::function<std::string()>& metrics) {
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  const std::string head = request(fd);
  if (head.empty()) return;
  const bool gets = head.starts_with("GET ");
  const std::string path = gets ? head.substr(4, head.find_first_of(" ?", 4) - 4) : "";
  std::string status = "200 OK", type = "text/plain; version=0.0.4; charset=utf-8", body;
  if (!gets) {
    status = "405 Method Not Allowed";
  } else if (path == "/metrics") {
    if (head.find("application/openmetrics-text") != std::string::npos)
      type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    body = metrics();
  } else {
    status = "404 Not Found";
    body = "See /metrics.\n";
  }
  send_all(fd, fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
                           "Connection: close\r\n\r\n{}",
                           status, type, body.size(), body));
}

}  // namespace

void serve_metrics(const std::string& address, const std::function<std::string()>& text) {
  const Descriptor listener(listen_at(address));
  print_error("cuvmm top: http://{}/metrics\n", bound_to(listener.fd));
  for (;;) {
    const Descriptor client(::accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC));
    if (client.fd >= 0) answer(client.fd, text);
  }
}

}  // namespace cuvmm::tools
