// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes and what each depends on. How captures and the entry points make nodes: capture.h,
// graph_nodes.cc.
#pragma once

#include <cuda.h>

#include <functional>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include "emulator/objects/context.h"
#include "emulator/objects/node_memory.h"

namespace cuvmm::emulator {

class Emulator;
class KernelParams;
struct GraphNode;

struct Dependency {
  GraphNode* on = nullptr;
  CUgraphEdgeData data{};
};

/// The operations of a batch node, which copies those that the program gives.
struct BatchParams {
  CUcontext context = nullptr;
  std::vector<CUstreamBatchMemOpParams> operations{};
  unsigned flags = 0;
};

/// The semaphores that a node signals or awaits, and what it does with each, copied.
template <class Params>
struct SemaphoreParams {
  std::vector<CUexternalSemaphore> semaphores{};
  std::vector<Params> params{};
};
using SignalParams = SemaphoreParams<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>;
using WaitParams = SemaphoreParams<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>;

struct GraphNode {
  CUgraphNodeType type{};
  std::function<CUresult(Emulator&)> check;  ///< at instantiation; empty: nothing to check
  std::function<CUresult(Emulator&)> run;    ///< at a launch, under the lock; empty: `host`
  CUhostFn host = nullptr;                   ///< called without the lock
  void* data = nullptr;
  std::vector<Dependency> dependencies{};  ///< on nodes of the same graph
  /// The parameters that the node was made with; of captured work, only kernels, copies, fills,
  /// allocations and frees have any.
  std::variant<std::monostate, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUDA_HOST_NODE_PARAMS,
               CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEM_FREE_NODE_PARAMS, CUDA_CONDITIONAL_NODE_PARAMS,
               std::shared_ptr<const KernelParams>, CUevent, BatchParams, SignalParams, WaitParams>
      params{};
  /// Attributes of a kernel that the program set.
  std::map<int, CUlaunchAttributeValue> attributes{};
  std::shared_ptr<NodeMemory> memory{};                    ///< of an allocation node
  std::shared_ptr<std::vector<CUmemAccessDesc>> access{};  ///< of an allocation node
  /// Page-locked memory of a copy: an address, and the number of its block. See page_locked.h.
  std::vector<std::pair<Address, std::uint64_t>> page_locked{};
  /// The child graph, or the graphs of a condition; the node owns them.
  std::vector<CUgraph> bodies{};
  const GraphNode* original = nullptr;  ///< the node that this node is a copy of, in a cloned graph

  CUgraphNode handle() { return reinterpret_cast<CUgraphNode>(this); }
};

using GraphNodes = std::vector<std::shared_ptr<GraphNode>>;

/// A graph. Only Graphs (graphs.h) adds and removes nodes.
struct Graph {
  GraphNodes nodes{};
  unsigned number = 0;         ///< 1 for the first graph of the process; Graphs::add gives it
  CUgraph parent = nullptr;    ///< the graph of the node that owns this one
  CUgraph original = nullptr;  ///< the graph that this graph is a clone of
  /// A node of memory was added, or nearly: a driver forbids as much where the last of its checks
  /// refused the node (recorded).
  bool of_memory = false;
  bool broken = false;  ///< a capture that added to it became invalid: it takes no node (recorded)
  std::map<CUuserObject, unsigned> user_objects{};  ///< the references that the graph holds

  bool has_memory_nodes() const;
};

/// A conditional variable. Only kernels can set a condition, and kernels here do not: it has its
/// default value where a launch assigns that, and else 0.
struct Condition {
  CUgraph graph = nullptr;
  const Context* context = nullptr;
  unsigned at_launch = 0;
  bool used = false;  ///< a node has it
};

}  // namespace cuvmm::emulator
