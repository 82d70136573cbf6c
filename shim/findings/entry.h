// SPDX-License-Identifier: Apache-2.0
// A distinct finding as the ledger keeps it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "shim/findings/finding.h"
#include "shim/nvtx/memory.h"
#include "shim/stack/symbolizer.h"

namespace cuvmm::shim {

/// Whether the value of such an object is an address.
constexpr bool is_address(ObjectRef::Kind kind) {
  using K = ObjectRef::Kind;
  return kind == K::kReservation || kind == K::kMapping || kind == K::kIpcMemory ||
         kind == K::kPoolMemory || kind == K::kExternalBuffer || kind == K::kMemory ||
         kind == K::kWork;
}

/// A finding with its addresses made readable, and how often it came. Never destroyed while
/// somebody may look at it.
struct Entry {
  enum class State : unsigned char {
    kNew,         ///< only `finding` and `count` are there
    kDescribing,  ///< by the thread that changed the state to this
    kReady        ///< all is there, and stays
  };
  Finding finding;
  std::string runtime;  ///< the runtime's function that made the call; empty for none
  std::vector<Frame> stack;
  std::vector<std::vector<Frame>>
      object_stacks;                             ///< one per finding.violation.objects: who made it
  std::vector<std::vector<Frame>> ended_stacks;  ///< who ended it; empty for what lives
  std::vector<std::string> ranges;               ///< of NVTX, in which it came: outermost first
  /// One per finding.violation.objects: the ranges in which it was made, and what NVTX's memory
  /// extension knows of it.
  std::vector<std::vector<std::string>> object_ranges;
  std::vector<nvtx::KnownMemory> object_memory;
  std::string json;  ///< the finding's members but "count", ready for a signal handler to write
  std::atomic<std::uint64_t> count{1};
  /// How many of them are probes (Finding::probe()) after which the program got what it wanted.
  std::atomic<std::uint64_t> handled{0};
  std::atomic<std::uint64_t> period{0};  ///< the last one in which it came
  std::atomic<Entry*> next{nullptr};
  std::atomic<State> state{State::kNew};
  std::atomic<bool> announced{false};
  /// Not worth a text of its own when it comes: an answer, and advice that is said at exit or was
  /// given already. Set before others see it.
  bool quiet = false;

  bool ready() const { return state.load(std::memory_order_acquire) == State::kReady; }
};

}  // namespace cuvmm::shim
