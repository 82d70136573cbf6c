// SPDX-License-Identifier: Apache-2.0
#include "program/channel.h"

#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "api/posix/pass_descriptor.h"

namespace cuvmm::program {

namespace {
struct Header {
  std::uint32_t type;
  std::uint32_t kind;
  std::uint64_t number;
};
// Room for buffers of up to 64 KiB; outcomes are shorter.
constexpr std::size_t kMaxText = 64 << 10;
}  // namespace

void Channel::close_now() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

bool Channel::send(const Message& message) {
  Header header{static_cast<std::uint32_t>(message.type), message.kind, message.number};
  const std::size_t size = message.text.size() < kMaxText ? message.text.size() : kMaxText;
  iovec parts[2] = {{&header, sizeof header}, {const_cast<char*>(message.text.data()), size}};
  return send_with_descriptor(socket_, parts, message.fd) >= 0;
}

std::optional<Message> Channel::receive(std::chrono::milliseconds timeout) {
  timed_out_ = false;
  pollfd wait{socket_, POLLIN, 0};
  int ready;
  do {
    ready = poll(&wait, 1, static_cast<int>(timeout.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) {
    timed_out_ = true;
    return std::nullopt;
  }
  Header header{};
  char text[kMaxText];  // not initialised, because that would cost more than the message
  iovec parts[2] = {{&header, sizeof header}, {text, sizeof text}};
  Message message;
  const ssize_t got = receive_with_descriptor(socket_, parts, message.fd);
  if (got < static_cast<ssize_t>(sizeof header)) return std::nullopt;
  message.type = static_cast<Message::Type>(header.type);
  message.kind = header.kind;
  message.number = header.number;
  message.text.assign(text, static_cast<std::size_t>(got) - sizeof header);
  return message;
}

}  // namespace cuvmm::program
