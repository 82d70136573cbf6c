// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/graph/followed_graphs.h"

#include <utility>

namespace cuvmm::shim {

void FollowedGraphs::add(CUgraphExec exec, GraphRecord record) {
  const Locked lock(mutex_);
  records_[exec] = std::move(record);
}

std::shared_ptr<const GraphUses> FollowedGraphs::uses(CUgraphExec exec) {
  const Locked lock(mutex_);
  const auto found = records_.find(exec);
  return found == records_.end() ? nullptr : found->second.uses();
}

void FollowedGraphs::forget(CUgraphExec exec) {
  const Locked lock(mutex_);
  records_.erase(exec);
  orders_.forget(exec);
  owned_.forget(exec);
}

void FollowedGraphs::keep_order(CUgraphExec exec, std::shared_ptr<const OrderedGraph> graph) {
  const Locked lock(mutex_);
  orders_.keep(exec, std::move(graph));
  any_allocates_.store(true, std::memory_order_relaxed);
}

void FollowedGraphs::forget_order(CUgraphExec exec) {
  if (!any_allocates()) return;
  const Locked lock(mutex_);
  orders_.forget(exec);
}

void FollowedGraphs::enable(CUgraphExec exec, CUgraphNode node, bool enabled) {
  if (!any_allocates() && !any_owned()) return;
  const Locked lock(mutex_);
  orders_.enable(exec, node, enabled);
  owned_.enable(exec, node, enabled);
}

std::shared_ptr<const OrderedGraph> FollowedGraphs::order(CUgraphExec exec, CUgraphNode node) {
  if (!any_allocates()) return nullptr;
  const Locked lock(mutex_);
  return orders_.of(exec, node);
}

void FollowedGraphs::keep_owned(CUgraphExec exec, OwnedUses::List uses, bool updated) {
  if (uses.empty()) return forget_owned(exec);
  const Locked lock(mutex_);
  owned_.keep(exec, std::move(uses), updated);
  any_owned_.store(true, std::memory_order_relaxed);
}

void FollowedGraphs::change_owned(CUgraphExec exec, CUgraphNode node, OwnedUses::List uses) {
  const Locked lock(mutex_);
  owned_.change(exec, node, std::move(uses));
}

void FollowedGraphs::forget_owned(CUgraphExec exec) {
  if (!any_owned()) return;
  const Locked lock(mutex_);
  owned_.forget(exec);
}

OwnedUses::List FollowedGraphs::owned_to_look_at(CUgraphExec exec, std::uint64_t generation) {
  if (!any_owned()) return {};
  const Locked lock(mutex_);
  return owned_.to_look_at(exec, generation);
}

void FollowedGraphs::looked_at_owned(CUgraphExec exec, std::uint64_t generation) {
  const Locked lock(mutex_);
  owned_.looked(exec, generation);
}

void FollowedGraphs::clear() {
  const Locked lock(mutex_);
  records_.clear();
  orders_.clear();
  owned_.clear();
}

void FollowedGraphs::restart(bool whole) {
  empty(whole, records_, orders_, owned_);
  any_allocates_.store(false);
  any_owned_.store(false);
}

}  // namespace cuvmm::shim
