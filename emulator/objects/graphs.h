// SPDX-License-Identifier: Apache-2.0
// All graphs of the process, and the executable graphs made from them.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "emulator/objects/executable.h"
#include "emulator/objects/graph.h"

namespace cuvmm::emulator {

/// The caller holds the emulator's lock. Lookups answer null for a handle of no live object;
/// handles are never given out twice.
class Graphs {
 public:
  CUgraph add(Graph&& graph);
  const Graph* find(CUgraph handle) const;
  /// Erases a graph with all its nodes, and the graphs that the nodes own.
  void erase(CUgraph graph);
  CUgraph clone(CUgraph graph, CUgraph parent);
  /// Whether `graph` is `outer`, or a graph that nodes of `outer` own.
  bool within(CUgraph graph, CUgraph outer) const;
  /// The nodes in an order that the dependencies allow; false where the dependencies form a cycle.
  bool order(CUgraph graph, Steps& out) const;

  /// The node behind a handle, and the graph that the node is in.
  GraphNode* find(CUgraphNode handle, CUgraph* graph = nullptr) const;
  void add(CUgraph graph, std::shared_ptr<GraphNode> node);
  /// Removes a node, and its edges.
  void erase(CUgraph graph, GraphNode& node);

  CUgraphConditionalHandle add(const Condition& condition);
  const Condition* find(CUgraphConditionalHandle handle) const;
  /// A node uses the condition, which no node used before.
  void use(CUgraphConditionalHandle handle);
  bool uses_all_conditions(CUgraph graph) const;

  CUgraphExec add(Executable&& executable);
  Executable* find(CUgraphExec handle);
  void erase(CUgraphExec handle);
  bool instantiated(CUgraph graph) const;

 private:
  template <class Handle>
  Handle next();

  std::map<CUgraph, Graph> graphs_;
  std::unordered_map<CUgraphNode, CUgraph> homes_;  ///< the graph of each node
  std::map<CUgraphExec, Executable> executables_;
  std::map<CUgraphConditionalHandle, Condition> conditions_;
  std::uintptr_t last_ = 0xe500000000;
};

}  // namespace cuvmm::emulator
