// SPDX-License-Identifier: Apache-2.0
#include "emulator/graph/update/node_pairs.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace cuvmm::emulator {

namespace {

constexpr auto kChanged = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;

CUgraphNode handle_of(const GraphNode* node) { return const_cast<GraphNode*>(node)->handle(); }

// The nodes on which no node depends, in the order of `nodes`, which are a graph's nodes or their
// copies in steps.
template <class Nodes, class Name>
std::vector<CUgraphNode> ends(const Nodes& nodes, Name&& name) {
  std::unordered_set<CUgraphNode> needed;
  for (const auto& [handle, node] : nodes) {
    for (const Dependency& each : node->dependencies) needed.insert(name(each));
  }
  std::vector<CUgraphNode> out;
  for (const auto& [handle, node] : nodes) {
    if (!needed.contains(handle)) out.push_back(handle);
  }
  return out;
}

bool same_edge(const CUgraphEdgeData& a, const CUgraphEdgeData& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

using Named = std::vector<std::pair<CUgraphNode, const GraphNode*>>;

}  // namespace

bool NodePairs::pair(CUgraphNode from, const GraphNode& to) {
  const auto [step, new_step] = of_step_.emplace(from, &to);
  const auto [node, new_node] = of_node_.emplace(&to, from);
  if (new_step && new_node) to_follow_.push_back(from);
  return step->second == &to && node->second == from;
}

UpdateResult NodePairs::match_dependencies(const GraphNode& from, const GraphNode& to) {
  if (from.dependencies.size() != to.dependencies.size()) return {kChanged, handle_of(&to)};
  for (std::size_t i = 0; i < to.dependencies.size(); ++i) {
    const Dependency& own = from.dependencies[i];
    const Dependency& other = to.dependencies[i];
    if (!same_edge(own.data, other.data) || !pair(handle_of(own.on), *other.on)) {
      return {kChanged, handle_of(&to), handle_of(other.on)};
    }
  }
  return {};
}

UpdateResult NodePairs::match(const Steps& steps, const GraphNodes& nodes) {
  if (steps.size() != nodes.size()) return {kChanged};
  const auto on = [](const Dependency& d) { return handle_of(d.on); };
  Named own, other;
  for (const Step& step : steps) own.emplace_back(step.original, step.node.get());
  for (const auto& node : nodes) other.emplace_back(node->handle(), node.get());
  for (const auto& [handle, node] : own) step_nodes_[handle] = node;
  const std::vector<CUgraphNode> from = ends(own, on), to = ends(other, on);
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (i == from.size()) return {kChanged, to[i]};
    pair(from[i], *reinterpret_cast<const GraphNode*>(to[i]));
  }
  while (!to_follow_.empty()) {
    CUgraphNode next = to_follow_.back();
    to_follow_.pop_back();
    const UpdateResult result = match_dependencies(*step_nodes_.at(next), *of_step_.at(next));
    if (!result.good()) return result;
  }
  // A step has no pair, because the other graph has fewer ends.
  if (of_step_.size() != steps.size()) return {kChanged};
  return {};
}

}  // namespace cuvmm::emulator
