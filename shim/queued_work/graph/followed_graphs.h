// SPDX-License-Identifier: Apache-2.0
// The executable graphs whose launches cuvmm follows.
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>
#include <unordered_map>

#include "shim/queued_work/graph/graph_orders.h"
#include "shim/queued_work/graph/graph_record.h"
#include "shim/queued_work/graph/owned_uses.h"
#include "shim/queued_work/held_across_fork.h"

namespace cuvmm::shim {

/// Thread-safe. A thread never takes another lock while it holds the lock of this class.
class FollowedGraphs : public HeldAcrossFork {
 public:
  void add(CUgraphExec exec, GraphRecord record);
  /// Calls change(record) for a graph that is known, under the lock.
  template <class Change>
  void change(CUgraphExec exec, Change&& change) {
    const Locked lock(mutex_);
    const auto found = records_.find(exec);
    if (found != records_.end()) change(found->second);
  }
  /// The memory that a launch uses; null if the graph is not known.
  std::shared_ptr<const GraphUses> uses(CUgraphExec exec);
  void forget(CUgraphExec exec);

  /// Whether some graphs may allocate memory. Such graphs are recorded even before the program has
  /// other memory whose end cuvmm checks.
  bool any_allocates() const { return any_allocates_.load(std::memory_order_relaxed); }
  void keep_order(CUgraphExec exec, std::shared_ptr<const OrderedGraph> graph);
  void forget_order(CUgraphExec exec);
  void enable(CUgraphExec exec, CUgraphNode node, bool enabled);
  /// Null if no node of the graph is known to allocate memory, or if the node is disabled.
  std::shared_ptr<const OrderedGraph> order(CUgraphExec exec, CUgraphNode node = nullptr);

  /// Whether the owners of memory that nodes use are known of some graph.
  bool any_owned() const { return any_owned_.load(std::memory_order_relaxed); }
  void keep_owned(CUgraphExec exec, OwnedUses::List uses, bool updated);
  void change_owned(CUgraphExec exec, CUgraphNode node, OwnedUses::List uses);
  void forget_owned(CUgraphExec exec);
  OwnedUses::List owned_to_look_at(CUgraphExec exec, std::uint64_t generation);
  void looked_at_owned(CUgraphExec exec, std::uint64_t generation);

  void clear();

  void restart(bool whole) CUVMM_UNCHECKED;

 private:
  std::atomic<bool> any_allocates_{false}, any_owned_{false};
  std::unordered_map<CUgraphExec, GraphRecord> records_ CUVMM_GUARDED_BY(mutex_);
  GraphOrders orders_ CUVMM_GUARDED_BY(mutex_);
  OwnedUses owned_ CUVMM_GUARDED_BY(mutex_);
};

}  // namespace cuvmm::shim
