// SPDX-License-Identifier: Apache-2.0
// A cluster: blocks that run at a time, see each other's shared memory, and meet at a barrier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cuvmm::kernels {

/// An address of shared memory has the number of its block in the cluster, plus 1, from this bit
/// on; 0 there is the thread's own block.
inline constexpr unsigned kRankAt = 24, kRankBits = 5;
inline constexpr std::uint64_t kInBlock = (std::uint64_t{1} << kRankAt) - 1;
inline constexpr std::uint64_t kRankMask = ((std::uint64_t{1} << kRankBits) - 1) << kRankAt;
/// The address with another block's number.
inline std::uint64_t in_block(std::uint64_t address, std::uint64_t rank) {
  return (address & ~kRankMask) | ((rank + 1) << kRankAt & kRankMask);
}

/// The part of a block that others of its cluster see.
class ClusterBlock {
 public:
  ClusterBlock(const ClusterBlock&) = delete;
  ClusterBlock& operator=(const ClusterBlock&) = delete;

  std::vector<char>& shared() { return shared_; }
  /// Releases the threads that wait at a barrier.
  virtual void release(unsigned barrier) = 0;

 protected:
  explicit ClusterBlock(std::size_t shared_bytes) : shared_(shared_bytes) {}
  ~ClusterBlock() = default;

  std::vector<char> shared_;
};

class Cluster {
 public:
  static constexpr unsigned kBarrier = 16;  ///< the number of its barrier, behind those of a block

  /// Blocks are added in the order of their numbers.
  void add(ClusterBlock& block) { blocks_.push_back(&block); }
  /// Null: the cluster has no block of that number.
  ClusterBlock* block(std::uint64_t rank) const {
    return rank < blocks_.size() ? blocks_[rank] : nullptr;
  }
  /// `threads`: of all blocks.
  void restart(unsigned threads) { live_ = threads, arrived_ = 0, phase_ = 1; }

  /// The number of the barrier's present phase, from 1 on.
  std::uint32_t phase() const { return phase_; }
  bool has_arrived() const { return arrived_ != 0; }
  void arrive(unsigned threads);
  /// `arrived`: those of them that had arrived in the present phase.
  void threads_ended(unsigned threads, unsigned arrived);

 private:
  void open_if_complete();

  std::vector<ClusterBlock*> blocks_;
  unsigned live_ = 0, arrived_ = 0;
  std::uint32_t phase_ = 1;
};

}  // namespace cuvmm::kernels
