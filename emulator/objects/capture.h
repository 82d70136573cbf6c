// SPDX-License-Identifier: Apache-2.0
// Stream captures: which streams are in them, what they took, and which calls they forbid.
#pragma once

#include <cuda.h>

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "emulator/objects/context.h"
#include "emulator/objects/graph.h"
#include "emulator/objects/stream.h"

namespace cuvmm::emulator {

/// One capture in progress. It knows streams by their keys: Captures::key().
class Capture {
 public:
  Capture(CUstream origin, const Context* context, CUstreamCaptureMode mode);

  /// Told apart from all other captures of the process.
  cuuint64_t id() const { return id_; }
  /// The graph that it will end in, where somebody asked for it before: empty until then.
  CUgraph graph() const { return graph_; }
  void set_graph(CUgraph graph) { graph_ = graph; }
  CUstream origin() const { return origin_; }
  const Context* context() const { return context_; }
  CUstreamCaptureMode mode() const { return mode_; }
  bool by_this_thread() const { return thread_ == std::this_thread::get_id(); }
  bool invalid() const { return invalid_; }
  void invalidate() { invalid_ = true; }

  /// Takes work of a stream that is in this capture; it depends on what the stream has to wait for.
  void add(std::shared_ptr<GraphNode> node, CUstream stream);
  /// What the next node of a stream depends on.
  const std::vector<GraphNode*>& ends(CUstream key);
  /// The same as handles and what the edges to it are like: valid until the stream's next call.
  const std::vector<CUgraphNode>& dependencies(CUstream key);
  const std::vector<CUgraphEdgeData>& edges() const { return told_edges_; }
  /// A stream waits for what another one captured, up to these nodes.
  void wait(CUstream key, CUstream awaited, const std::vector<GraphNode*>& nodes);
  /// Whether the origin waits for the work of all streams.
  bool joined() const { return unjoined_.empty(); }
  GraphNodes take_nodes();

  /// A node of it allocates memory.
  void allocate(Address base, Size size);
  /// A node of it frees memory of another; false where none allocates it, or one frees it already.
  bool free(Address base);
  /// Whether memory is there at launches only.
  bool allocates(Address address) const;

 private:
  CUstream origin_;
  const Context* context_;
  CUstreamCaptureMode mode_;
  std::thread::id thread_;
  bool invalid_ = false;
  GraphNodes nodes_;
  std::set<CUstream> unjoined_;        ///< streams with work that the origin does not wait for
  std::map<Address, Size> allocated_;  ///< memory of its nodes that they do not free
  std::map<CUstream, std::vector<GraphNode*>> ends_;
  cuuint64_t id_;
  CUgraph graph_ = nullptr;
  std::vector<CUgraphNode> told_;
  std::vector<CUgraphEdgeData> told_edges_;
};

/// All captures of the process; the caller holds the emulator's lock, but for any().
class Captures {
 public:
  explicit Captures(const Streams& streams);

  /// Whether a stream may be capturing: a cheap look, without the lock.
  static bool any() { return count_.load(std::memory_order_relaxed) != 0; }
  /// Names a stream in one capture or another: each thread has its own CU_STREAM_PER_THREAD.
  static CUstream key(CUstream stream);

  /// The capture of a stream; null when it has none.
  Capture* of(CUstream stream) const;
  void begin(CUstream stream, CUstreamCaptureMode mode);
  /// Ends a capture; null takes none. The last mention of it: what it captured goes with it.
  std::shared_ptr<Capture> end(const Capture* capture);
  /// A stream is destroyed: a capture that began on it ends, one that it joined is of no use.
  void forget(CUstream stream);
  void end_those_of(const Context& context);

  void recorded(CUevent event, CUstream stream);

  /// These answer SUCCESS where no capture forbids the call, and else what a driver does; that
  /// makes the captures invalid. For calls that may depend on captured work without saying so:
  CUresult refuse_unsafe();
  /// For work on the legacy stream, which waits for blocking streams.
  CUresult refuse_legacy(bool invalidate = true);
  /// For calls that wait for all work of the context.
  CUresult refuse_all();

  /// For a question about an event, which a captured one never answers.
  CUresult refuse_event(CUevent event);
  /// For a question about a stream, and for waiting for it.
  CUresult refuse_stream(CUstream stream);
  /// For a stream that is to wait for an event: joins it to the event's capture.
  CUresult wait(CUstream stream, CUevent event);

  static CUstreamCaptureMode& thread_mode();

 private:
  struct Member {
    std::shared_ptr<Capture> capture;
    bool blocking = false;  ///< the legacy stream waits for it
  };
  Capture* at(CUstream key) const;
  void add(CUstream stream, std::shared_ptr<Capture> capture);
  /// What a captured event stands for.
  struct Recorded {
    CUstream stream = nullptr;
    std::vector<GraphNode*> ends;
  };
  /// The key of the stream whose work a captured event stands for; null for any other event.
  CUstream stream_of(CUevent event) const;

  const Streams& all_streams_;
  std::map<CUstream, Member> streams_;  ///< those that capture, by key
  std::map<CUevent, Recorded> events_;
  inline static constinit std::atomic<std::size_t> count_{0};
};

}  // namespace cuvmm::emulator
