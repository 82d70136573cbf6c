// SPDX-License-Identifier: Apache-2.0
// The executable graphs whose launches are followed.
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>
#include <unordered_map>

#include "shim/base/owned_mutex.h"
#include "shim/queued_work/graph/graph_orders.h"
#include "shim/queued_work/graph/graph_record.h"

namespace cuvmm::shim {

/// Thread-safe. Its lock is never held while another one is taken.
class FollowedGraphs {
 public:
  void add(CUgraphExec exec, GraphRecord record);
  /// change(record) of a graph that is known, under the lock.
  template <class Change>
  void change(CUgraphExec exec, Change&& change) {
    const Locked lock(mutex_);
    const auto found = records_.find(exec);
    if (found != records_.end()) change(found->second);
  }
  /// What a launch uses; null if nothing is known of the graph.
  std::shared_ptr<const GraphUses> uses(CUgraphExec exec);
  void forget(CUgraphExec exec);

  /// Whether there may be graphs that allocate memory. These are kept also before there is any
  /// other memory that matters.
  bool any_allocates() const { return any_allocates_.load(std::memory_order_relaxed); }
  void keep_order(CUgraphExec exec, std::shared_ptr<const OrderedGraph> graph);
  void forget_order(CUgraphExec exec);
  void enable(CUgraphExec exec, CUgraphNode node, bool enabled);
  /// Null if the graph allocates nothing, as far as is known, or if the node does nothing.
  std::shared_ptr<const OrderedGraph> order(CUgraphExec exec, CUgraphNode node = nullptr);

  void clear();

  bool held_here() const { return mutex_.held_here(); }
  void lock_for_fork() CUVMM_ACQUIRES(mutex_) { mutex_.lock(); }
  void unlock_after_fork() CUVMM_RELEASES(mutex_) { mutex_.unlock(); }
  /// Only in a child of fork, which has one thread. Tables that are not whole are left behind.
  void restart(bool whole) CUVMM_UNCHECKED;

 private:
  std::atomic<bool> any_allocates_{false};
  OwnedMutex mutex_;
  std::unordered_map<CUgraphExec, GraphRecord> records_ CUVMM_GUARDED_BY(mutex_);
  GraphOrders orders_ CUVMM_GUARDED_BY(mutex_);
};

}  // namespace cuvmm::shim
