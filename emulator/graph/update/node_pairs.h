// SPDX-License-Identifier: Apache-2.0
// Pairs the nodes of two graphs, from the ends of both along their edges.
#pragma once

#include <unordered_map>
#include <vector>

#include "emulator/graph/update/update_result.h"
#include "emulator/objects/executable.h"

namespace cuvmm::emulator {

class NodePairs {
 public:
  /// Pairs the nodes of an executable graph with those of a graph, ends first, in the order in
  /// which nodes and edges were made. ERROR_TOPOLOGY_CHANGED where they do not match.
  UpdateResult match(const Steps& steps, const GraphNodes& nodes);

  /// The node that a step was paired with.
  const GraphNode* of(const Step& step) const { return of_step_.at(step.original); }

 private:
  UpdateResult match_dependencies(const GraphNode& from, const GraphNode& to);
  /// False where one of the nodes is paired with another node already.
  bool pair(CUgraphNode from, const GraphNode& to);

  std::unordered_map<CUgraphNode, const GraphNode*> of_step_{};
  std::unordered_map<const GraphNode*, CUgraphNode> of_node_{};
  std::unordered_map<CUgraphNode, const GraphNode*> step_nodes_{};
  std::vector<CUgraphNode> to_follow_{};
};

}  // namespace cuvmm::emulator
