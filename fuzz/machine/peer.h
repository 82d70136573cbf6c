// SPDX-License-Identifier: Apache-2.0
// Another process with its own driver, which makes calls for this process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "api/driver/driver.h"
#include "program/channel.h"

namespace cuvmm::fuzz {

using program::Channel;
using program::Message;

/// A peer serves any number of programs, because a context of a real driver costs a quarter of a
/// second. Calls go to the peer as bytes, and their answers come back. Only this process keeps
/// descriptors: the peer sends an exported descriptor here and closes its own; for an import, this
/// process sends a copy. So each descriptor crosses by SCM_RIGHTS, whichever process uses it.
class Peer {
 public:
  /// Forks. This process must not have used a driver before. The peer loads `driver`.
  explicit Peer(const std::string& driver);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// The peer's driver as a table of functions of this process; a process has one peer at a time.
  /// After the peer is lost, calls return CUDA_ERROR_UNKNOWN.
  Driver driver();
  /// How the peer ended before it was asked to: "signal:SIGSEGV", "timeout"; empty while it lives.
  const std::string& lost() const { return lost_; }
  pid_t pid() const { return pid_; }

  template <class CallStruct>
  CUresult call(const CallStruct& call);

 private:
  std::optional<Message> ask(Message& request);
  /// Returns the peer's exit status; kills it after two seconds.
  int wait_for_end();

  std::optional<Channel> channel_;
  pid_t pid_ = -1;
  std::string lost_;
};

}  // namespace cuvmm::fuzz
