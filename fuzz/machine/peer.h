// SPDX-License-Identifier: Apache-2.0
// Another process with a driver of its own, whose calls are made from this one.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "api/driver/driver.h"
#include "program/channel.h"

namespace cuvmm::fuzz {

using program::Channel;
using program::Message;

/// Serves any number of programs: a context of a real driver costs a quarter of a second. Calls go
/// there as bytes and come back with their answer. Descriptors live in this process alone: an
/// exported one comes here at once and is closed there; for an import a copy goes there. So each
/// crosses by SCM_RIGHTS whoever uses it.
class Peer {
 public:
  /// Forks; this process must not have used a driver by then. `driver` is loaded over there.
  explicit Peer(const std::string& driver);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Its driver as a table of functions of this process, which has one peer at a time. Calls answer
  /// CUDA_ERROR_UNKNOWN once it is lost.
  Driver driver();
  /// How it ended without being asked to: "signal:SIGSEGV", "timeout"; empty while it lives.
  const std::string& lost() const { return lost_; }
  pid_t pid() const { return pid_; }

  template <class CallStruct>
  CUresult call(const CallStruct& call);

 private:
  std::optional<Message> ask(Message& request);
  /// Its status, after two seconds by force.
  int wait_for_end();

  std::optional<Channel> channel_;
  pid_t pid_ = -1;
  std::string lost_;
};

}  // namespace cuvmm::fuzz
