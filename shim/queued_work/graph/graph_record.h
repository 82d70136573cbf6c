// SPDX-License-Identifier: Apache-2.0
// An executable graph as it was made, and what was changed of it since. No locks.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "shim/queued_work/graph/graph_uses.h"

namespace cuvmm::shim {

class GraphRecord {
 public:
  GraphRecord() = default;
  /// `own`: memory that its nodes allocate. A launch is not given what it allocates itself.
  explicit GraphRecord(std::vector<NodeUses> nodes, std::vector<UsedRange> own = {})
      : nodes_(std::move(nodes)), own_(std::move(own)) {
    index();
  }

  /// One node does something else from now on. Its place stays.
  void change(CUgraphNode node, NodeUses uses);
  /// A child graph, whose nodes are read at depth 0, takes the place of the one in this node.
  void change_child(CUgraphNode node, std::vector<NodeUses> child);
  void enable(CUgraphNode node, bool enabled);
  /// Another graph of the same shape takes the place of all. The program goes on to name nodes of
  /// the first one.
  void update(std::vector<NodeUses> nodes);

  /// What the next launch uses.
  std::shared_ptr<const GraphUses> uses();

 private:
  void index();
  std::size_t place_of(CUgraphNode node) const;  ///< nodes_.size(): none
  void replace(std::size_t first, std::size_t last, std::vector<NodeUses> with);

  std::vector<NodeUses> nodes_;
  std::vector<UsedRange> own_;
  std::unordered_map<CUgraphNode, std::size_t> places_;
  std::shared_ptr<const GraphUses> uses_;  ///< null: something changed
};

}  // namespace cuvmm::shim
