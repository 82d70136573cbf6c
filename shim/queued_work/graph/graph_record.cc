// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/graph/graph_record.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cuvmm::shim {

void GraphRecord::index() {
  places_.clear();
  for (std::size_t i = 0; i < nodes_.size(); ++i) places_[nodes_[i].node] = i;
}

std::size_t GraphRecord::place_of(CUgraphNode node) const {
  const auto found = places_.find(node);
  return found == places_.end() ? nodes_.size() : found->second;
}

void GraphRecord::change(CUgraphNode node, NodeUses uses) {
  const std::size_t place = place_of(node);
  if (place == nodes_.size()) return;
  NodeUses& old = nodes_[place];
  uses.node = old.node;
  uses.depth = old.depth;
  uses.enabled = old.enabled;
  uses.tells |= old.tells;
  uses.waits = old.waits;
  old = std::move(uses);
  uses_.reset();
}

void GraphRecord::change_child(CUgraphNode node, std::vector<NodeUses> child) {
  const std::size_t place = place_of(node);
  if (place == nodes_.size()) return;
  const int depth = nodes_[place].depth;
  for (NodeUses& each : child) each.depth += depth + 1;
  std::size_t last = place + 1;
  while (last < nodes_.size() && nodes_[last].depth > depth) ++last;
  replace(place + 1, last, std::move(child));
}

void GraphRecord::enable(CUgraphNode node, bool enabled) {
  const std::size_t place = place_of(node);
  if (place == nodes_.size()) return;
  nodes_[place].enabled = enabled;
  uses_.reset();
}

void GraphRecord::update(std::vector<NodeUses> nodes) {
  replace(0, nodes_.size(), std::move(nodes));
}

void GraphRecord::replace(std::size_t first, std::size_t last, std::vector<NodeUses> with) {
  uses_.reset();
  if (last - first == with.size()) {
    for (std::size_t i = 0; i < with.size(); ++i) {
      with[i].node = nodes_[first + i].node;
      with[i].enabled = nodes_[first + i].enabled;
      nodes_[first + i] = std::move(with[i]);
    }
    return;
  }
  const auto begin = nodes_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto at = nodes_.erase(begin, nodes_.begin() + static_cast<std::ptrdiff_t>(last));
  nodes_.insert(at, std::make_move_iterator(with.begin()), std::make_move_iterator(with.end()));
  index();
}

std::shared_ptr<const GraphUses> GraphRecord::uses() {
  if (uses_) return uses_;
  std::vector<UsedRange> ranges;
  GraphUses all;
  std::uint32_t node = 0;
  for (const NodeUses& each : nodes_) {
    ++node;
    if (!each.enabled) continue;
    for (const UsedRange& range : each.ranges) ranges.emplace_back(range).node = node;
    for (const LaunchArgument& argument : each.arguments) {
      const bool allocated = std::any_of(own_.begin(), own_.end(), [&](const UsedRange& own) {
        return argument.value - own.base < own.size;
      });
      if (!allocated) all.arguments.emplace_back(argument).node = node;
    }
    all.tells |= each.tells;
    all.waits |= each.waits;
  }
  all.ranges = std::make_shared<const std::vector<UsedRange>>(std::move(ranges));
  return uses_ = std::make_shared<const GraphUses>(std::move(all));
}

}  // namespace cuvmm::shim
