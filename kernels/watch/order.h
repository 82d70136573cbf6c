// SPDX-License-Identifier: Apache-2.0
// Which accesses of a launch come before which, by the barriers, fences and meetings of warps that
// the threads took part in.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/run/code.h"

namespace cuvmm::kernels {

/// The moments of a launch are numbers that grow with each event that orders threads. An access at
/// moment t comes before all that a thread does, if the thread has met t's thread after t.
class Moments {
 public:
  std::uint32_t now() const { return now_; }
  std::uint32_t next() { return ++now_; }
  /// All accesses so far come before all later ones.
  void order_all() { all_ = next(); }
  bool before_all(std::uint32_t moment) const { return moment < all_; }

 private:
  std::uint32_t now_ = 1, all_ = 0;
};

/// The order of the threads of a block. A barrier that several warps share counts for whole warps:
/// rather an order too many than a race that is none.
class BlockOrder {
 public:
  BlockOrder(Moments& moments, unsigned threads);

  /// All accesses of the block so far come before all later ones of it.
  void order_all() { all_ = moments_.next(); }
  /// Lanes of a warp have met.
  void meet(unsigned warp, Mask lanes);
  /// Threads of a warp arrive at a barrier.
  void arrive(unsigned warp, unsigned barrier) { arrived_[barrier] |= std::uint32_t{1} << warp; }
  /// The barrier opens for the warps that have arrived; `all`: for all threads of the block.
  void open(unsigned barrier, bool all);
  /// Whether what `first` did at that moment comes before all that `second` does now; both are
  /// threads of the block.
  bool ordered(std::uint32_t moment, unsigned first, unsigned second) const;

 private:
  using Lanes = std::array<std::uint32_t, std::size_t{kLanes} * kLanes>;
  std::uint32_t& lane_saw(unsigned warp, unsigned lane, unsigned other) {
    return lanes_[warp][lane * kLanes + other];
  }
  std::uint32_t& warp_saw(unsigned warp, unsigned other) { return warps_[warp * count_ + other]; }

  Moments& moments_;
  unsigned count_;  ///< of warps
  std::uint32_t all_ = 0;
  std::vector<std::uint32_t> warps_;  ///< up to which moment a warp has seen another's accesses
  std::vector<Lanes> lanes_;          ///< the same, of the lanes of a warp
  std::array<std::uint32_t, 16> arrived_{};
};

}  // namespace cuvmm::kernels
