// SPDX-License-Identifier: Apache-2.0
// Graphs that allocate memory: which nodes allocate, use and free it, and which edges order them.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "rulebook/order/check_graph.h"
#include "shim/queued_work/graph/graph_uses.h"

namespace cuvmm::shim {

/// Appends the uses of a node of this kind that a rule judges.
void add_uses(std::size_t node, CUgraphNodeType type, const NodeUses& uses,
              std::vector<GraphOrder::Use>& out);
/// Widens `bounds` by the graph's own memory.
void widen(Bounds& bounds, const std::vector<GraphOrder::Allocation>& allocations);

/// Reads a graph by questions to the driver. Most graphs allocate nothing: for them it asks only
/// for the kind of each node.
class GraphMemoryReader {
 public:
  GraphMemoryReader(const Questions& ask, Layouts& layouts, const TensorMaps& maps)
      : ask_(ask), layouts_(layouts), maps_(maps) {}

  /// The result has no allocations if the graph has none, or if the driver does not answer every
  /// question. The uses of a child graph are ordered as its node in the parent graph is.
  GraphOrder read(CUgraph graph);
  /// The numbers of the nodes that read() has read.
  std::unordered_map<CUgraphNode, std::size_t> numbers() const;

 private:
  struct Member {
    CUgraphNode node = nullptr;
    CUgraphNodeType type{};
    // The node's numbers at its begin and its end. The nodes of a child graph have numbers between
    // the two.
    std::size_t begins = 0, ends = 0;
  };
  struct Level {
    CUgraph graph = nullptr;
    std::size_t begins = 0, ends = 0;  ///< the numbers of the child's node; equal if the graph is
                                       ///< no child
    std::vector<Member> members;
  };

  bool read_members(CUgraph graph, int depth, std::size_t begins, std::size_t ends);
  bool read_memory(const Member& member);
  bool read_edges(const Level& level);

  const Questions& ask_;
  Layouts& layouts_;
  const TensorMaps& maps_;
  GraphOrder order_;
  std::vector<Level> levels_;
};

}  // namespace cuvmm::shim
