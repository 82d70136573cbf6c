// SPDX-License-Identifier: Apache-2.0
// Stream captures: which streams are in them, which work they took, and which calls they forbid.
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

/// One capture in progress. The class names streams by their keys: Captures::key().
class Capture {
 public:
  Capture(CUstream origin, const Context* context, CUstreamCaptureMode mode);

  /// Unique among all captures of the process.
  cuuint64_t id() const { return id_; }
  /// The graph that the capture will end in; null until a program asks for it before the end.
  CUgraph graph() const { return graph_; }
  void set_graph(CUgraph graph) { graph_ = graph; }
  /// The capture adds to a graph that the program made, behind these nodes of it.
  void add_to(CUgraph graph, std::vector<GraphNode*> behind);
  bool adds_to_graph() const { return adds_to_graph_; }
  CUstream origin() const { return origin_; }
  const Context* context() const { return context_; }
  CUstreamCaptureMode mode() const { return mode_; }
  bool by_this_thread() const { return thread_ == std::this_thread::get_id(); }
  bool invalid() const { return invalid_; }
  void invalidate() { invalid_ = true; }

  /// Adds work of a stream that is in this capture; the work depends on the nodes that the stream
  /// has to wait for.
  void add(std::shared_ptr<GraphNode> node, CUstream stream);
  /// The nodes that the next node of a stream depends on.
  const std::vector<GraphNode*>& ends(CUstream key);
  /// The nodes of ends() as handles, and in edges() the data of the edges to them: valid until the
  /// next call for the stream.
  const std::vector<CUgraphNode>& dependencies(CUstream key);
  const std::vector<CUgraphEdgeData>& edges() const { return dependency_edges_; }
  /// A stream waits for these nodes, which another stream captured.
  void wait(CUstream key, const std::vector<GraphNode*>& nodes);
  /// The next node of the stream depends on these nodes alone.
  void wait_only(CUstream key, std::vector<GraphNode*> nodes) { ends_[key] = std::move(nodes); }
  /// The node of a handle, if the capture has it; null: another node, or none.
  GraphNode* node(CUgraphNode handle) const;
  /// Whether the origin waits for all work of the other streams.
  bool joined() const;
  const GraphNodes& nodes() const { return nodes_; }
  GraphNodes take_nodes();

  /// A node of the capture allocates memory.
  void allocate(Address base, Size size);
  /// A node of the capture frees memory of another node; false where a node of the capture frees it
  /// already, or no node allocates it. `elsewhere`: a node of another graph does.
  bool free(Address base, bool elsewhere);
  /// Whether the memory at an address exists during launches only, because a node allocates it.
  bool allocates(Address address) const;

 private:
  CUstream origin_;
  const Context* context_;
  CUstreamCaptureMode mode_;
  std::thread::id thread_;
  bool invalid_ = false;
  GraphNodes nodes_;
  std::set<const GraphNode*> forked_;  ///< the work of other streams than the origin
  std::map<Address, Size> allocated_;  ///< memory that nodes allocate and no node frees
  std::set<Address> freed_;            ///< memory that nodes free
  std::map<CUstream, std::vector<GraphNode*>> ends_;
  cuuint64_t id_;
  CUgraph graph_ = nullptr;
  bool adds_to_graph_ = false;
  std::vector<CUgraphNode> dependencies_;
  std::vector<CUgraphEdgeData> dependency_edges_;
};

/// All captures of the process; the caller holds the emulator's lock, except for any().
class Captures {
 public:
  explicit Captures(const Streams& streams);

  /// Whether any stream may be capturing: a cheap test, without the lock.
  static bool any() { return count_.load(std::memory_order_relaxed) != 0; }
  /// The name of a stream in every capture: each thread has its own CU_STREAM_PER_THREAD.
  static CUstream key(CUstream stream);

  /// The capture of a stream; null when the stream does not capture.
  Capture* of(CUstream stream) const;
  Capture& begin(CUstream stream, CUstreamCaptureMode mode);
  /// Ends a capture and returns it, the last reference to the work that it captured; null for null.
  std::shared_ptr<Capture> end(const Capture* capture);
  /// A stream is destroyed: a capture that began on it ends. A capture that the stream joined goes
  /// on with the work that the stream captured, and has to wait for that work before its end.
  void forget(CUstream stream);
  void end_those_of(const Context& context);

  void recorded(CUevent event, CUstream stream);
  /// The event stands for no captured work from now on: it is destroyed, or the launch of a graph
  /// records it.
  void forget(CUevent event) { events_.erase(event); }

  /// These functions answer SUCCESS where no capture forbids the call, and else the driver's error;
  /// the error makes the captures invalid. For calls that may depend on captured work without
  /// naming a stream:
  CUresult refuse_unsafe();
  /// For work on the legacy stream, which waits for blocking streams.
  CUresult refuse_legacy(bool invalidate = true);
  /// For calls that wait for all work of the context.
  CUresult refuse_all();

  /// For a query of an event, which always fails for an event that was recorded in a capture.
  CUresult refuse_event(CUevent event);
  /// Whether the event's last record was in a capture that has ended, or is invalid.
  bool outlived(CUevent event) const;
  /// For a query of a stream, and for a wait for it.
  CUresult refuse_stream(CUstream stream);
  /// For a stream that is to wait for an event: joins the stream to the event's capture.
  CUresult wait(CUstream stream, CUevent event);

  static CUstreamCaptureMode& thread_mode();

 private:
  struct Member {
    std::shared_ptr<Capture> capture;
    bool blocking = false;  ///< the legacy stream waits for it
  };
  Capture* at(CUstream key) const;
  void add(CUstream stream, std::shared_ptr<Capture> capture);
  /// The captured work that an event stands for.
  struct Recorded {
    CUstream stream = nullptr;  ///< a stream of the capture; null once the capture has ended
    std::vector<GraphNode*> ends;
  };
  /// The key of the stream whose captured work an event stands for; null for any other event.
  CUstream stream_of(CUevent event) const;

  const Streams& all_streams_;
  std::map<CUstream, Member> streams_;  ///< the streams that capture, by key
  std::map<CUevent, Recorded> events_;
  inline static constinit std::atomic<std::size_t> count_{0};
};

}  // namespace cuvmm::emulator
