// SPDX-License-Identifier: Apache-2.0
// The findings to expect for each call of a program about work in flight: a second reading of
// docs/work-in-flight.md, over a graph of all queued work and a flat list of memory.
#pragma once

#include <cuda.h>

#include <map>
#include <string>
#include <vector>

#include "api/calls.h"
#include "fuzz/flight/history.h"
#include "rulebook/catalogue/rule.h"

namespace cuvmm::fuzz::flight {

template <class T>
std::uint64_t value_of(T* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

/// Work that no order puts before a call which takes the work's memory away.
struct Suspect {
  Node node = -1;
  int stream = -1;
  bool last = false;    ///< only records come behind it on its stream
  bool legacy = false;  ///< on the legacy stream, about which a shim may be less sure
  bool marked = false;  ///< only a record or a wait behind it may be unfinished
  bool idle = false;    ///< it gets the memory as an argument, and does not touch it
  bool unseen = false;  ///< a shim cannot know that it uses the memory
  bool may_be_known =
      false;  ///< the program may know that it is over: a finding only where it is not
  /// A shim may find it and need not: its stream was destroyed, or its argument may be the end of
  /// other memory.
  bool doubtful = false;
  /// Work of a destroyed stream comes after it, and a shim may see that this later work is over.
  bool may_be_seen_over = false;
  /// For the legacy stream: later work of blocking streams, which may keep it busy as far as the
  /// program knows.
  std::vector<Node> beside = {};
};

/// The reference's opinion of one call, before the call is made.
struct Opinion {
  bool made = true;  ///< false: the call is left out, because it is illegal or cannot be followed
  bool may_wait = false;  ///< the answer may also be NOT_READY
  /// The rules for work that is known to be unfinished, and for other work; kCount for a call that
  /// takes no memory away.
  Rule certain = Rule::kCount, uncertain = Rule::kCount;
  std::vector<Suspect> suspects;
  /// Allocations from a pool that no order puts before the call that uses them.
  std::vector<Node> early;
  /// The rules that a launch with a wrong address must break, and those that it may break.
  std::vector<Rule> vain, perhaps_vain;
  bool lost = false;  ///< the work fails, or no call can query it any more
};

class Reference {
 public:
#define CUVMM_FLIGHT_CALL(call)                       \
  Opinion judge(const calls::call& made, int thread); \
  void accept(const calls::call& made, int thread); /* it answered SUCCESS */
#include "fuzz/flight/calls.def"

  History& history() { return history_; }
  /// Must be called when a kernel of this name was loaded.
  void loaded(std::uint64_t function, const std::string& name) { kernels_[function] = name; }

 private:
  struct Memory {
    enum class Kind : std::uint8_t { kMapped, kPool, kOpened, kBuffer, kPlain };
    Bytes bytes;
    Kind kind = Kind::kMapped;
    bool live = true;
    bool usable = true;    ///< a device may read and write it
    bool readable = true;  ///< a device may at least read it
    /// For a buffer, its external memory; for opened memory, how often it was opened.
    std::uint64_t object = 0;
    Node since = 0;        ///< nodes before this one used other memory at these addresses
    Node allocation = -1;  ///< the allocation of a pool's memory
    int born = 0;          ///< number of the mapping
  };
  /// A reservation, a handle of memory, a descriptor, external memory, a pool.
  struct Object {
    std::uint64_t value = 0, size = 0;
    bool live = true;
    int born = 0;  ///< number of the reservation; mappings count as well
  };
  struct Event {
    std::uint64_t value = 0;
    Node node = -1;
    bool live = true;
  };
  struct Graph {
    std::uint64_t value = 0;
    std::vector<Use> uses;
    bool live = true;
    Node last = -1;  ///< for an executable graph: its last launch, after which the next one comes
  };
  /// The uses of work, as the stream gets it.
  using Uses = std::vector<Use>;

  /// The live object with this value; null for none.
  template <class Each>
  static Each* alive(std::vector<Each>& list, std::uint64_t value) {
    for (Each& each : list) {
      if (each.live && each.value == value) return &each;
    }
    return nullptr;
  }
  /// Live memory that has all of these bytes, and that a device may use.
  Memory* usable(const Bytes& bytes);
  /// Live memory of this kind that begins at `base`.
  Memory* live_at(std::uint64_t base, Memory::Kind kind);
  /// Judges an address that a launch gets as an argument; adds the rules that it breaks.
  void judge_argument(Opinion& out, std::uint64_t address) const;
  /// Whether a kernel may get this address to reach other memory: the reservation has other memory,
  /// or memory begins a little behind.
  bool leads_elsewhere(std::uint64_t address) const;
  /// Whether memory ends at the address, or did, so that a kernel may get it as an end.
  bool ends_at(std::uint64_t address) const;
  /// The uses of a kernel: its arguments, in either form, and what the kernel does with them.
  Uses uses_of(const void* function, void** parameters, void** extra, std::uint64_t threads) const;
  /// Judges a launch of a kernel or a graph, which comes behind `also` and behind the stream's
  /// work. The driver does not look at its memory.
  void judge_launch(Opinion& out, int stream, int thread, const Uses& uses, Node also = -1);
  Opinion judge_kernel(std::uint64_t stream, int thread, const Uses& uses);
  /// Whether a shim follows work already: it does once there is memory that a call can take away.
  bool followed() const;
  bool capturing() const { return capture_ >= 0; }

  // Opinions that several calls share.
  /// A call that is made where it is legal and no stream captures.
  Opinion plain(bool legal) const;
  /// A call that waits for these nodes, or queries them.
  Opinion wait(const std::vector<Node>& nodes) const;
  /// Work on a stream; the stream may capture it.
  Opinion work(std::uint64_t handle, int thread, const std::vector<Bytes>& bytes);
  /// work() where the program may learn from the call that other work is over; never captured.
  Opinion telling(std::uint64_t handle, int thread, const Bytes& bytes);
  /// Queues the work; returns its node, or -1 where it is captured.
  Node queue(std::uint64_t handle, int thread, const std::vector<Bytes>& bytes);
  Node queue_uses(std::uint64_t handle, int thread, const Uses& uses);
  /// Whether the host memory at this address was allocated page-locked.
  bool pinned(const void* host) const;
  /// Finds allocations of these bytes that come neither before the stream's next work nor before
  /// `also`, which that work comes behind.
  void find_early(Opinion& out, int stream, int thread, const Bytes& bytes, Node also = -1) const;
  /// Whether no call can query the stream: it was destroyed, or belongs to another thread.
  bool beyond_reach(const History::Stream& stream, int thread) const;
  /// Takes memory away. The call may take it from work of node `ordered_by` and later that comes
  /// before it in stream order (-1: from no work).
  void take(Opinion& out, const Memory& memory, int ordered_by, int thread);
  /// Marks the suspects that a shim may see to be over by the event that it recorded when a stream
  /// was destroyed. Streams that still live are queried for the reference as well.
  void mark_seen_over(std::vector<Suspect>& suspects) const;

  History history_;
  std::vector<Memory> memory_;
  std::vector<Object> ranges_, handles_, descriptors_, externals_, pools_, pinned_;
  std::vector<Event> events_;
  std::vector<Graph> graphs_, executables_;
  int births_ = 0;
  int capture_ = -1;  ///< the stream that captures
  Uses captured_;
  std::map<std::uint64_t, std::string> kernels_;
};

/// Whether a rule is about work in flight.
bool is_flight(Rule rule);

}  // namespace cuvmm::fuzz::flight
