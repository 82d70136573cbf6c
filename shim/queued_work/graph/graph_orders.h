// SPDX-License-Identifier: Apache-2.0
// The executable graphs that allocate memory. A change keeps the order of their nodes and may
// replace the memory that the nodes use. Has no lock of its own.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rulebook/order/check_graph.h"

namespace cuvmm::shim {

/// The order of a graph, without the uses of its nodes.
struct OrderedGraph {
  GraphOrder order;
  /// The numbers of the nodes that the program names; empty if cuvmm cannot tell which node is
  /// which.
  std::unordered_map<CUgraphNode, std::size_t> numbers;
  /// The memory that a launch leaves allocated, and whether the next launch frees it. No
  /// documentation says which memory a launch leaves after an update.
  std::vector<UsedRange> left = {};
  bool auto_free = false;
};

class GraphOrders {
 public:
  void keep(CUgraphExec exec, std::shared_ptr<const OrderedGraph> graph) {
    graphs_[exec] = {std::move(graph), {}};
  }
  void forget(CUgraphExec exec) { graphs_.erase(exec); }
  void clear() { graphs_.clear(); }

  void enable(CUgraphExec exec, CUgraphNode node, bool enabled) {
    const auto found = graphs_.find(exec);
    if (found == graphs_.end()) return;
    enabled ? void(found->second.disabled.erase(node)) : void(found->second.disabled.insert(node));
  }
  /// Null if the graph is not known, or if the node is disabled.
  std::shared_ptr<const OrderedGraph> of(CUgraphExec exec, CUgraphNode node) const {
    const auto found = graphs_.find(exec);
    if (found == graphs_.end() || found->second.disabled.contains(node)) return nullptr;
    return found->second.graph;
  }

 private:
  struct Followed {
    std::shared_ptr<const OrderedGraph> graph;  // shared, because callers judge the graph without
                                                // the lock
    std::unordered_set<CUgraphNode> disabled;
  };
  std::unordered_map<CUgraphExec, Followed> graphs_;
};

}  // namespace cuvmm::shim
