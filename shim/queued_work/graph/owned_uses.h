// SPDX-License-Identifier: Apache-2.0
// The memory that the nodes of executable graphs use, with its owners. Has no lock of its own.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rulebook/order/check_owned_use.h"

namespace cuvmm::shim {

class OwnedUses {
 public:
  using List = std::vector<OwnedUse>;
  /// The uses of all nodes. `updated`: the program goes on to name nodes of another graph than that
  /// of these nodes (cuGraphExecUpdate).
  void keep(CUgraphExec exec, List uses, bool updated) {
    Graph& graph = graphs_[exec];
    graph.uses = std::move(uses);
    graph.note_of_host();
    graph.updated = updated;
    graph.looked_at = 0;
    if (!updated) graph.disabled.clear();
  }
  /// Replaces the uses of one node. Forgets the graph if nobody can tell which node the program
  /// names.
  void change(CUgraphExec exec, CUgraphNode node, List uses) {
    const auto found = graphs_.find(exec);
    if (found == graphs_.end()) return;
    Graph& graph = found->second;
    if (graph.updated) return void(graphs_.erase(found));
    std::erase_if(graph.uses, [node](const OwnedUse& one) { return one.node == node; });
    graph.uses.insert(graph.uses.end(), uses.begin(), uses.end());
    graph.note_of_host();
    graph.looked_at = 0;
  }
  void enable(CUgraphExec exec, CUgraphNode node, bool enabled) {
    const auto found = graphs_.find(exec);
    if (found == graphs_.end()) return;
    Graph& graph = found->second;
    if (graph.updated) return void(graphs_.erase(found));
    enabled ? void(graph.disabled.erase(node)) : void(graph.disabled.insert(node));
    graph.looked_at = 0;
  }
  void forget(CUgraphExec exec) { graphs_.erase(exec); }
  void clear() { graphs_.clear(); }

  /// The uses of the enabled nodes; only those of memory of the host, whose end nobody tells, if
  /// looked() noted that no memory has ended since an earlier look. `generation` rises when memory
  /// ends, and is never 0.
  List to_look_at(CUgraphExec exec, std::uint64_t generation) const {
    const auto found = graphs_.find(exec);
    if (found == graphs_.end()) return {};
    const Graph& graph = found->second;
    const bool all = graph.looked_at != generation;
    if (!all && !graph.of_host) return {};
    List uses = graph.uses;
    std::erase_if(uses, [&](const OwnedUse& one) {
      return graph.disabled.contains(one.node) || !(all || one.use.of_host);
    });
    return uses;
  }
  /// The memory of all uses lived in this generation.
  void looked(CUgraphExec exec, std::uint64_t generation) {
    const auto found = graphs_.find(exec);
    if (found != graphs_.end()) found->second.looked_at = generation;
  }

 private:
  struct Graph {
    void note_of_host() {
      of_host = std::ranges::any_of(uses, [](const OwnedUse& one) { return one.use.of_host; });
    }
    List uses;
    std::unordered_set<CUgraphNode> disabled;
    std::uint64_t looked_at = 0;
    bool updated = false;
    bool of_host = false;  ///< some uses are of memory of the host
  };
  std::unordered_map<CUgraphExec, Graph> graphs_;
};

}  // namespace cuvmm::shim
