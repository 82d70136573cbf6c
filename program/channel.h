// SPDX-License-Identifier: Apache-2.0
// Whole messages between two processes over a socket, with a descriptor if the message has one.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace cuvmm::program {

struct Message {
  enum class Type : std::uint32_t { kProgram, kExecute, kOutcome, kFetch, kBinding, kTidy, kDone };
  Type type = Type::kDone;
  std::uint32_t kind = 0;    ///< Binding::Kind
  std::uint64_t number = 0;  ///< statement index, or a binding's value
  std::string text;          ///< program, name, outcome, or a buffer's bytes
  int fd = -1;               ///< owned by the receiver; -1 for none
};

/// One end of a socket pair. The destructor closes it.
class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}
  ~Channel() { close_now(); }
  Channel(Channel&& other) noexcept : socket_(other.socket_) { other.socket_ = -1; }
  Channel& operator=(Channel&&) = delete;

  /// False if the other end is closed.
  bool send(const Message& message);
  /// Nothing if the other end is closed, or if `timeout` has passed (then timed_out() is true).
  std::optional<Message> receive(std::chrono::milliseconds timeout);
  bool timed_out() const { return timed_out_; }
  void close_now();

 private:
  int socket_;
  bool timed_out_ = false;
};

}  // namespace cuvmm::program
