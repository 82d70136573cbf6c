// SPDX-License-Identifier: Apache-2.0
// Graphs that allocate memory: which nodes allocate, use and free it, and what orders them.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "rulebook/order/check_graph.h"
#include "shim/queued_work/graph/graph_uses.h"

namespace cuvmm::shim {

/// What a node of this kind uses, as it is judged.
void add_uses(std::size_t node, CUgraphNodeType type, const NodeUses& uses,
              std::vector<GraphOrder::Use>& out);
/// Where the graph's own memory lies.
void widen(Bounds& bounds, const std::vector<GraphOrder::Allocation>& allocations);

/// Asks the driver. Of most graphs, which allocate nothing, it asks no more than the kind of each
/// node.
class GraphMemoryReader {
 public:
  GraphMemoryReader(const Questions& ask, Layouts& layouts, const TensorMaps& maps)
      : ask_(ask), layouts_(layouts), maps_(maps) {}

  /// Without allocations where there are none, or where the driver does not tell all. What child
  /// graphs do comes where the child's node stands.
  GraphOrder read(CUgraph graph);
  /// Of the nodes that were read.
  std::unordered_map<CUgraphNode, std::size_t> numbers() const;

 private:
  struct Member {
    CUgraphNode node = nullptr;
    CUgraphNodeType type{};
    // Their numbers. A child graph lies between two.
    std::size_t begins = 0, ends = 0;
  };
  struct Level {
    CUgraph graph = nullptr;
    std::size_t begins = 0, ends = 0;  ///< of the child's node; equal: it is nobody's child
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
