// SPDX-License-Identifier: Apache-2.0
// What should be found of each call of a program about work in flight: a second reading of
// docs/work-in-flight.md, over a graph of all that was queued and a flat list of memory.
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

/// Work that nothing orders before a call which takes its memory away.
struct Suspect {
  Node node = -1;
  int stream = -1;
  bool last = false;    ///< nothing but records comes behind it on its stream
  bool legacy = false;  ///< of the legacy stream, about which a shim may be less sure
  bool marked = false;  ///< a record or a wait behind it may be all that is left to do
  bool idle = false;    ///< it is only given that memory, and does not touch it
  bool unseen = false;  ///< a shim cannot know that it uses the memory
  bool told = false;    ///< the program may know that it is over: no finding but that it is not
  /// A shim may find it and need not: its stream was destroyed, or what it is given may be the end
  /// of other memory.
  bool doubtful = false;
  /// Of the legacy stream: later pieces of blocking streams, which may keep it busy with other work
  /// as far as the program knows.
  std::vector<Node> beside = {};
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
  /// A launch is given an address where it cannot go: what of that is said, and what may be.
  std::vector<Rule> vain, perhaps_vain;
  bool lost = false;  ///< the work fails, or nobody can be asked about it any more
};

class Reference {
 public:
#define CUVMM_FLIGHT_CALL(call)                       \
  Opinion judge(const calls::call& made, int thread); \
  void accept(const calls::call& made, int thread); /* it answered SUCCESS */
#include "fuzz/flight/calls.def"

  History& history() { return history_; }
  /// A kernel of this name was loaded.
  void loaded(std::uint64_t function, const std::string& name) { kernels_[function] = name; }

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
    int born = 0;          ///< of what is mapped: which one it was
  };
  /// A reservation, a handle of memory, a descriptor, external memory, a pool.
  struct Object {
    std::uint64_t value = 0, size = 0;
    bool live = true;
    int born = 0;  ///< of a reservation: which one it was, mappings counted as well
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
    Node last = -1;  ///< of an executable one: its last launch, behind which the next one comes
  };
  /// Work as the stream gets it.
  using Uses = std::vector<Use>;

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
  /// Whether a launch may be given this address: adds what is said if not.
  void judge_argument(Opinion& out, std::uint64_t address) const;
  /// Whether a kernel may be given this address for the sake of what lies elsewhere: its
  /// reservation has other memory, or memory begins a little behind.
  bool leads_elsewhere(std::uint64_t address) const;
  /// Whether memory ends there, or did, so that a kernel may be given it as an end.
  bool ends_at(std::uint64_t address) const;
  /// What a kernel is given, in one form or the other, and what it does with that.
  Uses uses_of(const void* function, void** parameters, void** extra, std::uint64_t threads) const;
  /// A launch, of a kernel or of a graph, that comes behind `also` as well as behind the stream's
  /// work. The driver does not look at its memory.
  void judge_launch(Opinion& out, int stream, int thread, const Uses& uses, Node also = -1);
  Opinion judge_kernel(std::uint64_t stream, int thread, const Uses& uses);
  /// Whether a shim follows work by now: once there is memory that can be taken away.
  bool followed() const;
  bool capturing() const { return capture_ >= 0; }

  // What several calls have in common.
  /// A call that is made where it is legal, and no stream captures.
  Opinion plain(bool legal) const;
  /// One that waits for these, or asks whether they are over.
  Opinion wait(const std::vector<Node>& nodes) const;
  /// Work on a stream, which may be captured.
  Opinion work(std::uint64_t handle, int thread, const std::vector<Bytes>& bytes);
  /// The same where the program may learn something of it: never captured.
  Opinion telling(std::uint64_t handle, int thread, const Bytes& bytes);
  /// Its node; -1 for what is captured.
  Node queue(std::uint64_t handle, int thread, const std::vector<Bytes>& bytes);
  Node queue_uses(std::uint64_t handle, int thread, const Uses& uses);
  /// Whether the host's memory there was allocated page-locked.
  bool pinned(const void* host) const;
  /// Allocations that hold these bytes and do not come before the stream's next work, nor before
  /// `also`, which that work comes behind.
  void find_early(Opinion& out, int stream, int thread, const Bytes& bytes, Node also = -1) const;
  /// Nobody can be asked about it: it was destroyed, or belongs to another thread.
  bool beyond_reach(const History::Stream& stream, int thread) const;
  /// Takes memory away; from work of `ordered_by` on that comes before the call in stream order it
  /// may (-1: from none).
  void take(Opinion& out, const Memory& memory, int ordered_by, int thread);

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

/// The rules about work in flight that a call may break.
bool is_flight(Rule rule);

}  // namespace cuvmm::fuzz::flight
