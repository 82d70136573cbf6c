// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes and what each depends on, and what an instantiated graph does. How captures and
// the entry points make nodes: capture.h, graph_nodes.cc.
#pragma once

#include <cuda.h>

#include <functional>
#include <map>
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <variant>
#include <vector>

#include "emulator/base/emulator.h"
#include "emulator/graph/graph_memory.h"

namespace cuvmm::emulator {

struct Graph;
struct GraphNode;

struct Dependency {
  GraphNode* on = nullptr;
  CUgraphEdgeData data{};
};

struct GraphNode {
  CUgraphNodeType type{};
  std::function<CUresult(Emulator&)> check;  ///< at instantiation; empty: nothing to check
  std::function<CUresult(Emulator&)> run;    ///< at a launch, under the lock; empty: `host`
  CUhostFn host = nullptr;                   ///< called without the lock
  void* data = nullptr;
  std::vector<Dependency> dependencies{};  ///< on nodes of the same graph
  /// What the node was made with; nothing for captured work.
  std::variant<std::monostate, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUDA_HOST_NODE_PARAMS,
               CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEM_FREE_NODE_PARAMS, CUDA_CONDITIONAL_NODE_PARAMS>
      params{};
  std::shared_ptr<NodeMemory> memory{};  ///< of an allocation node
  std::vector<CUgraph> bodies{};  ///< the child graph, or those of a condition; the node's own
  const GraphNode* original = nullptr;  ///< of which this one is a clone's

  CUgraphNode handle() { return reinterpret_cast<CUgraphNode>(this); }
};

using GraphNodes = std::vector<std::shared_ptr<GraphNode>>;

struct Graph {
  GraphNodes nodes{};
  CUgraph parent = nullptr;    ///< the graph of the node that owns this one
  CUgraph original = nullptr;  ///< of which this is a clone

  bool has_memory_nodes() const;
  /// Whether memory is there at launches only, because a node allocates it.
  bool allocates(Address address) const;
};

/// A conditional variable. Only kernels can set one, and none runs here: it has its default
/// wherever that is assigned at a launch, and else 0.
struct Condition {
  CUgraph graph = nullptr;
  const Context* context = nullptr;
  unsigned at_launch = 0;
  bool used = false;  ///< by a node
};

/// A node of an executable graph, in the order in which they run.
struct Step {
  CUgraphNode original = nullptr;
  std::shared_ptr<GraphNode> node;  ///< a copy: parameters of the original may change later
  std::vector<std::vector<Step>> bodies{};
};
using Steps = std::vector<Step>;

struct Executable {
  CUgraph graph = nullptr;
  Steps steps{};
  unsigned long long flags = 0;
  std::map<int, Size> memory{};  ///< bytes of its allocation nodes, by device
  bool launched = false;
};

/// All graphs of the process; the caller holds the emulator's lock.
class Graphs {
 public:
  static Graphs& get();

  CUgraph add(Graph&& graph);
  Graph* find(CUgraph handle);
  /// The node behind a handle, and its graph; null for what is none.
  GraphNode* find(CUgraphNode handle, CUgraph* graph = nullptr);
  void add(CUgraph graph, std::shared_ptr<GraphNode> node);
  /// Removes a node, and its edges.
  void erase(CUgraph graph, GraphNode& node);
  /// With all its nodes, and the graphs that they own.
  void erase(CUgraph graph);
  CUgraph clone(CUgraph graph, CUgraph parent);
  /// The graph that no node owns, of which this one is a part.
  CUgraph root(CUgraph graph);
  /// Its nodes in an order that the dependencies allow; false where there is none.
  bool order(CUgraph graph, Steps& out);

  std::map<CUgraphExec, Executable> executables;
  std::map<CUgraphConditionalHandle, Condition> conditions;

  template <class Handle>
  Handle next() {
    constexpr std::uintptr_t kStep = 0x100;
    last_ += kStep;
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<Handle>(last_);
    } else {
      return last_;
    }
  }

 private:
  std::map<CUgraph, Graph> graphs_;
  std::unordered_map<CUgraphNode, CUgraph> homes_;
  std::uintptr_t last_ = 0xe500000000;
};

}  // namespace cuvmm::emulator
