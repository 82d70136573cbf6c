// SPDX-License-Identifier: Apache-2.0
#include "kernels/run/run_grid.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/run/block.h"

namespace cuvmm::kernels {

namespace {

// Instructions of warps before another block's turn. Blocks of a cooperative launch wait for each
// other, and then a long turn is lost.
constexpr std::uint64_t kTurn = 1 << 18, kTurnTogether = 1 << 10;
constexpr std::uint64_t kTurnInCluster = 1 << 12;
constexpr std::size_t kMostResident = 1024;

// The blocks of a cluster.
class Group {
 public:
  explicit Group(Grid& grid) : grid_(grid) {
    const unsigned count = grid.shape().cluster_blocks();
    for (unsigned rank = 0; rank < count; ++rank)
      blocks_.push_back(std::make_unique<Block>(grid, grid.code(), cluster_, rank));
  }

  // As another cluster of the grid.
  void restart(std::uint64_t number) {
    const Shape& shape = grid_.shape();
    unsigned first[3] = {}, rank = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const unsigned clusters = shape.grid[axis] / shape.cluster[axis];
      first[axis] = static_cast<unsigned>(number % clusters) * shape.cluster[axis];
      number /= clusters;
    }
    cluster_.restart(shape.threads() * shape.cluster_blocks());
    for (const auto& block : blocks_) {
      const unsigned index[3] = {first[0] + rank % shape.cluster[0],
                                 first[1] + rank / shape.cluster[0] % shape.cluster[1],
                                 first[2] + rank / shape.cluster[0] / shape.cluster[1]};
      block->restart(index);
      ++rank;
    }
  }

  Block::State run(std::uint64_t most) {
    if (blocks_.size() == 1) return blocks_.front()->run(most);
    const std::uint64_t before = grid_.steps();
    bool ended = true;
    for (const auto& block : blocks_) {
      if (block->ended()) continue;
      block->run(std::min(most, kTurnInCluster));
      if (grid_.failed()) return Block::State::kEnded;
      ended &= block->ended();
    }
    if (ended) return Block::State::kEnded;
    return grid_.steps() == before ? Block::State::kStuck : Block::State::kAgain;
  }

  /// The end of a launch in which all threads wait.
  Fault stuck() const {
    Fault fault{.code = CUDA_ERROR_LAUNCH_TIMEOUT,
                .what = "all threads of a block wait for each other, and none will go on",
                .wrong = Wrong::kStuck};
    for (const auto& block : blocks_) {
      const Instruction* const at = block->waits_at();
      if (!at || fault.line != 0) continue;
      fault.line = at->line;
      std::copy_n(block->index(), 3, fault.block);
    }
    return fault;
  }

 private:
  Grid& grid_;
  Cluster cluster_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace

Fault run(Grid& grid) {
  std::deque<std::unique_ptr<Group>> resident;
  std::unique_ptr<Group> spare;
  const std::uint64_t groups = grid.shape().blocks() / grid.shape().cluster_blocks();
  const bool together = grid.shape().together;
  for (std::uint64_t next = 0; !grid.failed() && (next < groups || !resident.empty());) {
    std::unique_ptr<Group> group;
    if (next < groups && (together || resident.size() < kMostResident)) {
      group = spare ? std::move(spare) : std::make_unique<Group>(grid);
      group->restart(next++);
    } else {
      group = std::move(resident.front());
      resident.pop_front();
    }
    const Block::State state = group->run(together ? kTurnTogether : kTurn);
    if (state == Block::State::kStuck) grid.fail(group->stuck());
    if (state == Block::State::kEnded) {
      spare = std::move(group);
    } else {
      resident.push_back(std::move(group));
    }
  }
  grid.flush();
  return grid.fault();
}

}  // namespace cuvmm::kernels
