// SPDX-License-Identifier: Apache-2.0
// The part of a block that its warps see.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/run/cluster.h"
#include "kernels/run/grid.h"

namespace cuvmm::kernels {

class BlockView : public ClusterBlock {
 public:
  Grid& grid() { return grid_; }
  const unsigned* index() const { return index_; }

  Cluster& cluster() { return cluster_; }
  unsigned rank() const { return rank_; }  ///< in the cluster

  static constexpr unsigned kBarriers = 16;
  static_assert(Cluster::kBarrier == kBarriers);
  struct Reduction {
    unsigned count = 0;  ///< threads whose predicate was true
    unsigned of = 0;     ///< all threads
  };
  /// The reduction of the barrier that opened last.
  const Reduction& reduction() const { return reduction_; }
  /// `threads` threads arrive at a barrier for `expected` (0: all) threads; returns whether it
  /// opened.
  virtual bool arrive(unsigned barrier, unsigned threads, unsigned expected,
                      unsigned with_predicate) = 0;
  virtual void threads_ended(unsigned threads) = 0;

 protected:
  BlockView(Grid& grid, Cluster& cluster, std::size_t shared_bytes)
      : ClusterBlock(shared_bytes), grid_(grid), cluster_(cluster) {}
  ~BlockView() = default;

  Grid& grid_;
  Cluster& cluster_;
  Reduction reduction_;
  unsigned index_[3] = {};
  unsigned rank_ = 0;
};

}  // namespace cuvmm::kernels
