// SPDX-License-Identifier: Apache-2.0
// Executable graphs that allocate memory. Their order stays as it was; what their nodes use may be
// changed. No locks.
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

/// A graph without what its nodes use.
struct OrderedGraph {
  GraphOrder order;
  /// Of its nodes, as the program names them; none where nobody knows which is which.
  std::unordered_map<CUgraphNode, std::size_t> numbers;
  /// What a launch leaves allocated, and whether the next one frees that. Nobody says what becomes
  /// of it in an update.
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
  /// Null where nothing is known of it, or where the node does nothing.
  std::shared_ptr<const OrderedGraph> of(CUgraphExec exec, CUgraphNode node) const {
    const auto found = graphs_.find(exec);
    if (found == graphs_.end() || found->second.disabled.contains(node)) return nullptr;
    return found->second.graph;
  }

 private:
  struct Kept {
    std::shared_ptr<const OrderedGraph> graph;  // who judges it does so without the lock
    std::unordered_set<CUgraphNode> disabled;
  };
  std::unordered_map<CUgraphExec, Kept> graphs_;
};

}  // namespace cuvmm::shim
