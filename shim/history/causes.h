// SPDX-License-Identifier: Apache-2.0
// Facts of earlier calls that can cause a later refusal: captures that forbid calls, hints of
// reservations that were not met, memory of a graph's allocation nodes. Every reader and writer
// holds the session's lock.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rulebook/base/violation.h"
#include "shim/stack/stacks.h"

namespace cuvmm::shim {

class Causes {
 public:
  struct Capture {
    std::uint64_t stream = 0;
    std::uint32_t thread = 0;  ///< the thread that began it
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    Origin begun;
  };
  void begun(const Capture& capture);
  /// Ends the capture of this thread, if the stream is each thread's own default stream.
  void ended(std::uint64_t stream, std::uint32_t thread);
  /// The newest capture whose mode forbids calls of this thread.
  std::optional<Capture> forbids(std::uint32_t thread) const;
  /// The capture that began on the stream.
  std::optional<Capture> began_on(std::uint64_t stream, std::uint32_t thread) const;
  std::optional<Capture> newest() const;

  bool capturing() const { return !captures_.empty(); }
  bool is_alone() const { return captures_.size() == 1; }

  /// A stream recorded the event: in a capture if `by` names a call, else outside of captures.
  void recorded(std::uint64_t event, const Origin& by);
  /// The call that recorded the event last, if that was in a capture; else call 0.
  Origin recorded_in_capture(std::uint64_t event) const;

  /// The call of a capturing stream made this node of its graph.
  void captured_call(CUgraphNode node, const Origin& by);
  /// The call that made the node; call 0: unknown.
  Origin captured_by(CUgraphNode node) const;
  /// Nodes have ended: the driver may return their handles again, for nodes that no capture makes.
  void forget_captured_calls() { captured_calls_.clear(); }

  struct Hint {
    std::uint64_t asked = 0, size = 0, got = 0;
    Origin by;
  };
  /// Stores the newest kMostHints.
  void unmet(const Hint& hint);
  /// The newest hint for this very address that an earlier call gave, and that `counts`.
  std::optional<Hint> unmet_before(std::uint64_t address, std::uint64_t call,
                                   const std::function<bool(const Hint&)>& counts) const;

  struct NodeMemory {
    std::uint64_t size = 0;
    Origin captured;            ///< call 0: cuGraphAddMemAllocNode or a similar call made the
                                ///< node
    Origin launched;            ///< the launch that allocated it, if it lives; else call 0
    Origin allocated;           ///< the last launch that allocated it; call 0: none
    bool freed_within = false;  ///< by a node of its own graph
    Origin freed_by;            ///< the call that freed it last, maybe a launch; call 0: none
    std::uint64_t exec = 0;     ///< handle of the executable graph of the last launch
    int device = -1;            ///< on which the memory lies, -1 unknown
    Origin outlived{};          ///< the call that ended the device's primary context since the
                                ///< last launch; call 0: none
  };
  /// The next allocation of a capture returned this address.
  void captured(std::uint64_t base, std::uint64_t size, const Origin& by);
  /// A graph was instantiated with a node that allocates this memory.
  void instantiated(std::uint64_t base, std::uint64_t size);
  void launched(std::uint64_t base, std::uint64_t size, std::uint64_t exec, int device,
                const Origin& by);
  void freed(std::uint64_t address, const Origin& by);
  /// A node of the memory's own graph frees it; `by`: a launch of that graph, or call 0.
  void freed_within(std::uint64_t address, const Origin& by);
  /// A capture got a free of the memory: a node of the graph that allocates the memory, if the one
  /// capture that goes on made both.
  void captured_free(std::uint64_t address);
  /// The memory that launches have left allocated, and its bases.
  std::vector<std::pair<std::uint64_t, NodeMemory>> left_by_launches() const;
  /// Whether a launch has left memory.
  bool may_have_left() const;
  /// Whether memory was freed that launches with this stack had allocated.
  bool any_freed_of(StackId launches) const { return freed_launches_.contains(launches); }
  bool knows_node_memory() const { return !nodes_.empty(); }
  /// The memory of an allocation node that contains the address, and its base.
  std::optional<std::pair<std::uint64_t, NodeMemory>> node_memory(std::uint64_t address) const;

  struct QueuedFree {
    std::uint64_t stream = 0;
    Origin by;
  };
  void freed_in_order(std::uint64_t stream, const Origin& by) { last_free_ = {stream, by}; }
  const QueuedFree& last_free() const { return last_free_; }
  /// `device`: the context was the primary one of this device; -1: another context, or unknown.
  void context_ended(const Origin& by, int device);
  /// Whether this call ended a context: one of the last kMostEnds that did.
  bool ended_a_context(std::uint64_t call) const;
  const Origin& context_end() const { return context_end_; }
  void trimmed(const Origin& by) { last_trim_ = by; }
  const Origin& last_trim() const { return last_trim_; }
  void threshold_set(CUmemoryPool pool, const Origin& by) { thresholds_[pool] = by; }
  const Origin& threshold_of(CUmemoryPool pool) const {
    static constexpr Origin kNone;
    const auto found = thresholds_.find(pool);
    return found == thresholds_.end() ? kNone : found->second;
  }

  void clear() { *this = {}; }

 private:
  static constexpr std::size_t kMostHints = 64, kMostNodes = 16384, kMostEvents = 4096,
                               kMostCalls = 65536, kMostEnds = 256;
  std::vector<Capture> captures_;
  std::vector<Hint> hints_;
  std::size_t next_hint_ = 0;
  std::map<std::uint64_t, NodeMemory> nodes_;  ///< by base
  std::set<StackId> freed_launches_;           ///< of launches whose memory was freed later
  std::map<std::uint64_t, Origin> captured_events_;
  std::unordered_map<CUgraphNode, Origin> captured_calls_;
  QueuedFree last_free_;
  Origin last_trim_, context_end_;
  std::set<std::uint64_t> context_ends_;  ///< the numbers of the calls
  std::map<CUmemoryPool, Origin> thresholds_;
};

}  // namespace cuvmm::shim
