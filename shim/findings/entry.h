// SPDX-License-Identifier: Apache-2.0
// A distinct finding in the ledger.
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

/// A finding with its addresses made readable, and the number of its occurrences. Never destroyed,
/// because any thread may look at it.
struct Entry {
  enum class State : unsigned char {
    kNew,         ///< only `finding` and `count` are set
    kDescribing,  ///< by the thread that set this state
    kReady        ///< all members are set, and only the counts still change
  };
  Finding finding;
  std::string runtime;  ///< the runtime's function that made the call; empty for none
  std::vector<Frame> stack;
  std::vector<std::vector<Frame>> object_stacks;  ///< one for each of finding.violation.objects:
                                                  ///< the stack of its maker
  std::vector<std::vector<Frame>> ended_stacks;   ///< the stacks of the calls that ended the
                                                  ///< objects; empty for an object that lives
  /// One for each of finding.violation.objects: the functions that made and ended it, as the
  /// program called them; "" if they are not known.
  std::vector<std::string> made_by, ended_by;
  std::vector<std::string> ranges;  ///< the ranges of NVTX in which the finding came:
                                    ///< outermost first
  /// One for each of finding.violation.objects: the ranges in which the object was made, and the
  /// names that NVTX's memory extension has for it.
  std::vector<std::vector<std::string>> object_ranges;
  std::vector<nvtx::KnownMemory> object_memory;
  std::string json;  ///< the finding's members but "count", ready for a signal handler to write
  std::atomic<std::uint64_t> count{1};
  /// How many of them are probes (Finding::probe()) after which a later call gave the program what
  /// it wanted.
  std::atomic<std::uint64_t> handled{0};
  std::atomic<std::uint64_t> period{0};  ///< the last period in which it came
  std::atomic<Entry*> next{nullptr};
  std::atomic<State> state{State::kNew};
  std::atomic<bool> announced{false};
  /// Not printed when it comes: an answer, or advice that is printed at exit or was printed
  /// already. Set before other threads see the entry.
  bool quiet = false;

  bool ready() const { return state.load(std::memory_order_acquire) == State::kReady; }
};

}  // namespace cuvmm::shim
