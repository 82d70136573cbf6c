// SPDX-License-Identifier: Apache-2.0
#include "kernels/run/block.h"

#include <algorithm>

namespace cuvmm::kernels {

namespace {
constexpr std::uint64_t kWarpTurn = 1 << 14;  // instructions
}

Block::Block(Grid& grid, const Code& code, Cluster& cluster, unsigned rank)
    : BlockView(grid, cluster, code.shared_bytes + grid.shape().dynamic_shared),
      threads_(grid.shape().threads()) {
  rank_ = rank;
  cluster.add(*this);
  for (unsigned first = 0; first < threads_; first += kLanes) {
    warps_.push_back(
        std::make_unique<Warp>(*this, code, first, std::min(kLanes, threads_ - first)));
  }
}

void Block::restart(const unsigned (&index)[3]) {
  std::copy_n(index, 3, index_);
  live_ = threads_;
  barriers_ = {};
  for (const auto& warp : warps_) warp->restart();
  if (grid_.watcher()) grid_.watcher()->starts(*this);
}

Block::State Block::run(std::uint64_t most) {
  const std::uint64_t end = grid_.steps() + most * kLanes;
  while (grid_.steps() < end) {
    const std::uint64_t before = grid_.steps();
    bool ended = true;
    for (const auto& warp : warps_) {
      if (warp->ended()) continue;
      warp->run(kWarpTurn);
      if (grid_.failed()) return State::kEnded;
      ended &= warp->ended();
    }
    if (ended) return State::kEnded;
    if (grid_.steps() == before) return State::kStuck;
  }
  return State::kAgain;
}

const Instruction* Block::waits_at() const {
  for (const auto& warp : warps_) {
    if (const Instruction* const at = warp->waits_at()) return at;
  }
  return nullptr;
}

bool Block::arrive(unsigned number, unsigned threads, unsigned expected, unsigned with_predicate) {
  Barrier& barrier = barriers_[number % kBarriers];
  barrier.arrived += threads;
  barrier.expected = expected;
  barrier.reduction.of += threads;
  barrier.reduction.count += with_predicate;
  return open_if_complete(number % kBarriers);
}

bool Block::open_if_complete(unsigned number) {
  Barrier& barrier = barriers_[number];
  if (barrier.arrived < (barrier.expected ? barrier.expected : live_)) return false;
  if (Watcher* const watcher = grid_.watcher()) {
    const bool all = barrier.expected == 0 || barrier.expected == threads_;
    watcher->opens(*this, number, all);
  }
  reduction_ = barrier.reduction;
  barrier = {};
  release(number);
  return true;
}

void Block::release(unsigned barrier) {
  for (const auto& warp : warps_) warp->release(barrier);
}

void Block::threads_ended(unsigned threads) {
  live_ -= threads;
  for (unsigned number = 0; number < kBarriers; ++number) {
    if (barriers_[number].arrived != 0) open_if_complete(number);
  }
}

}  // namespace cuvmm::kernels
