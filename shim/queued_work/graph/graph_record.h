// SPDX-License-Identifier: Apache-2.0
// An executable graph as it was made, with the changes that the program has made to it since. Has
// no lock of its own.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "shim/queued_work/graph/graph_uses.h"

namespace cuvmm::shim {

class GraphRecord {
 public:
  GraphRecord() = default;
  /// `own`: memory that the graph's nodes allocate. cuvmm does not judge arguments of a launch that
  /// lie in memory which the launch allocates itself.
  explicit GraphRecord(std::vector<NodeUses> nodes, std::vector<UsedRange> own = {})
      : nodes_(std::move(nodes)), own_(std::move(own)) {
    index();
  }

  /// Replaces the uses of one node. The node's place in the list stays.
  void change(CUgraphNode node, NodeUses uses);
  /// Replaces the child graph in this node by another one, whose nodes were read at depth 0.
  void change_child(CUgraphNode node, std::vector<NodeUses> child);
  void enable(CUgraphNode node, bool enabled);
  /// Replaces all nodes by the nodes of another graph of equal shape. The program goes on to name
  /// nodes of the first graph.
  void update(std::vector<NodeUses> nodes);

  /// The memory that the next launch uses.
  std::shared_ptr<const GraphUses> uses();

 private:
  void index();
  std::size_t place_of(CUgraphNode node) const;  ///< nodes_.size(): the graph has no such node
  void replace(std::size_t first, std::size_t last, std::vector<NodeUses> with);

  std::vector<NodeUses> nodes_;
  std::vector<UsedRange> own_;
  std::unordered_map<CUgraphNode, std::size_t> places_;
  std::shared_ptr<const GraphUses> uses_;  ///< null: a node changed since
};

}  // namespace cuvmm::shim
