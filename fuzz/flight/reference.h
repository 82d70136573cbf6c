// SPDX-License-Identifier: Apache-2.0
// What should be found of each call of a program about work in flight: a second reading of
// docs/work-in-flight.md, over a graph of all that was queued and a flat list of memory.
#pragma once

#include <cuda.h>

#include <vector>

#include "api/calls.h"
#include "fuzz/flight/history.h"
#include "rulebook/rule.h"

namespace cuvmm::fuzz::flight {

/// Work that nothing orders before a call which takes its memory away.
struct Suspect {
  Node node = -1;
  int stream = -1;
  bool last = false;    ///< a busy stream means that this work is not over
  bool legacy = false;  ///< of the legacy stream, about which a shim may be less sure
  bool marked = false;  ///< a record or a wait behind it may be all that is left to do
};

/// What the reference thinks of one call before it is made.
struct Opinion {
  bool made = true;       ///< false: it is not legal, or cannot be followed, and so is left out
  bool may_wait = false;  ///< NOT_READY will do as well
  /// The rules of what is known to be unfinished, and of the rest; kCount for a call that takes
  /// nothing away.
  Rule certain = Rule::kCount, uncertain = Rule::kCount;
  std::vector<Suspect> suspects;
  /// Allocations from a pool behind which nothing orders the call that uses them.
  std::vector<Node> early;
  bool vain = false;         ///< a graph is launched whose memory is gone
  bool surely_vain = false;  ///< and a shim can see that
  bool lost = false;         ///< memory is taken from work of which nobody can be asked any more
};

class Reference {
 public:
#define CUVMM_FLIGHT_CALL(call)                       \
  Opinion judge(const calls::call& made, int thread); \
  void accept(const calls::call& made, int thread); /* it answered SUCCESS */
#include "fuzz/flight/calls.def"

  History& history() { return history_; }

 private:
  struct Memory {
    enum class Kind : std::uint8_t { kMapped, kPool, kOpened, kBuffer, kPlain };
    Bytes bytes;
    Kind kind = Kind::kMapped;
    bool live = true;
    bool usable = true;    ///< a device may read and write it
    bool readable = true;  ///< or read it at least
    /// Of a buffer, its external memory; of what was opened, how often.
    std::uint64_t object = 0;
    Node since = 0;        ///< nodes before this one used something else there
    Node allocation = -1;  ///< of a pool's memory
  };
  /// A reservation, a handle of memory, a descriptor, external memory, a pool.
  struct Object {
    std::uint64_t value = 0, size = 0;
    bool live = true;
  };
  struct Event {
    std::uint64_t value = 0;
    Node node = -1;
    bool live = true;
  };
  struct Graph {
    std::uint64_t value = 0;
    std::vector<Bytes> uses;
    bool live = true;
  };

  /// The live one with this value; null for none.
  template <class Each>
  static Each* alive(std::vector<Each>& list, std::uint64_t value) {
    for (Each& each : list) {
      if (each.live && each.value == value) return &each;
    }
    return nullptr;
  }
  /// Live memory that holds all of it, and that a device may use.
  Memory* usable(const Bytes& bytes);
  /// Live memory that begins there, of this kind.
  Memory* live_at(std::uint64_t base, Memory::Kind kind);
  bool seen_to_be_gone(const Bytes& bytes) const;
  bool capturing() const { return capture_ >= 0; }

  // What several calls have in common.
  /// A call that is made where it is legal, and no stream captures.
  Opinion plain(bool legal) const;
  /// One that waits for these, or asks whether they are over.
  Opinion wait(const std::vector<Node>& nodes) const;
  /// Work on a stream, which may be captured.
  Opinion work(std::uint64_t handle, int thread, const std::vector<Bytes>& uses);
  void queue(std::uint64_t handle, int thread, const std::vector<Bytes>& uses);
  void find_early(Opinion& out, int stream, int thread, const Bytes& bytes) const;
  /// Nobody can be asked about it: it was destroyed, or belongs to another thread.
  bool beyond_reach(const History::Stream& stream, int thread) const;
  /// Takes memory away; from work of `ordered_by` on that comes before the call in stream order it
  /// may (-1: from none).
  void take(Opinion& out, const Memory& memory, int ordered_by, int thread);

  History history_;
  std::vector<Memory> memory_;
  std::vector<Object> ranges_, handles_, descriptors_, externals_, pools_;
  std::vector<Event> events_;
  std::vector<Graph> graphs_, executables_;
  int capture_ = -1;  ///< the stream that captures
  std::vector<Bytes> captured_;
};

/// The rules about work in flight that a call may break.
bool is_flight(Rule rule);

}  // namespace cuvmm::fuzz::flight
