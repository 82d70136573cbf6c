// SPDX-License-Identifier: Apache-2.0
// All graphs of the process, and the executable graphs made from them.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/objects/executable.h"
#include "emulator/objects/graph.h"

namespace cuvmm::emulator {

struct UserObject {
  CUhostFn destroy = nullptr;
  void* data = nullptr;
  unsigned references = 0;
};

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
  /// The graph counts as one with nodes of memory from now on.
  void mark_of_memory(CUgraph graph) { graphs_.at(graph).of_memory = true; }
  void mark_broken(CUgraph graph) { graphs_.at(graph).broken = true; }
  bool uses_all_conditions(CUgraph graph) const;

  CUgraphExec add(Executable&& executable);
  Executable* find(CUgraphExec handle);
  void erase(CUgraphExec handle);
  /// The memory of an allocation node of a graph, or of an executable one, that has this address;
  /// null where there is none.
  const NodeMemory* memory_at(CUdeviceptr address) const;
  /// Whether an executable graph with memory, other than `but`, was made from the graph, and lives.
  bool instantiated_with_memory(CUgraph graph, CUgraphExec but = nullptr) const;

  /// User objects, with the references that the program and graphs hold. These answer false for an
  /// object that does not exist, or that has fewer references. An object without references ends;
  /// the caller runs its destructor, from take_ended(), without the lock.
  CUuserObject add(const UserObject& object);
  bool retain(CUuserObject object, unsigned count);
  bool release(CUuserObject object, unsigned count);
  bool retain(CUgraph graph, CUuserObject object, unsigned count, bool move);
  bool release(CUgraph graph, CUuserObject object, unsigned count);
  std::vector<UserObject> take_ended() { return std::exchange(ended_, {}); }

 private:
  template <class Handle>
  Handle next();
  void release_all(const std::map<CUuserObject, unsigned>& references);

  std::map<CUgraph, Graph> graphs_;
  unsigned last_number_ = 0;
  std::unordered_map<CUgraphNode, CUgraph> homes_;  ///< the graph of each node
  std::map<CUgraphExec, Executable> executables_;
  std::map<CUgraphConditionalHandle, Condition> conditions_;
  std::map<CUuserObject, UserObject> user_objects_;
  std::vector<UserObject> ended_;
  std::uintptr_t last_ = 0xe500000000;
};

}  // namespace cuvmm::emulator
