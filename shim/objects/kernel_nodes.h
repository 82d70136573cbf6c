// SPDX-License-Identifier: Apache-2.0
// The functions that kernel nodes of graphs run: of nodes that the program added itself, and of
// their copies in clones and child graphs. Has no lock of its own.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace cuvmm::shim {

/// Nodes of captures are not known. Handles stand for graphs, nodes and functions.
class KernelNodes {
 public:
  using Handle = std::uint64_t;
  /// In place of the function of a node that signals external semaphores or waits for them: whether
  /// one of them is NULL.
  static constexpr Handle kNullSemaphore = 1, kSemaphores = 2;

  /// The program has added this node to the graph.
  void add(Handle graph, Handle node, Handle function);
  /// The node runs another function from now on.
  void change(Handle node, Handle function);
  /// The graph `to` has copies of all nodes of `from`: in its node `node`, a child graph, or as its
  /// own nodes (0). The driver has handles for the copies that are not known here.
  void copy(Handle from, Handle to, Handle node);
  void end_node(Handle node);
  void end_graph(Handle graph);

  /// The functions that the nodes of a graph run.
  std::vector<Handle> functions(Handle graph) const;

  /// An executable graph has these functions from now on. None: it has ended.
  void execute(Handle executable, std::vector<Handle> functions);
  /// A node of the executable graph, nobody knows which, has another function now.
  void change_executable(Handle executable, Handle function);
  bool executes(Handle executable, Handle function) const;
  void clear();

 private:
  struct Use {
    Handle graph, function;
  };
  struct Copy {
    Handle node, function;
  };
  /// An unknown node was changed, or ended. It may be one of the copies, so all are forgotten.
  void forget_copies() { copies_.clear(); }

  std::map<Handle, Use> nodes_;
  std::map<Handle, std::set<Handle>> of_graph_;  ///< its own nodes
  std::map<Handle, std::vector<Copy>> copies_;   ///< by graph
  std::map<Handle, std::vector<Handle>> executables_;
};

}  // namespace cuvmm::shim
