// SPDX-License-Identifier: Apache-2.0
#include "kernels/run/run_grid.h"

#include <deque>
#include <memory>
#include <utility>

#include "kernels/run/block.h"

namespace cuvmm::kernels {

namespace {

// Instructions of warps before another block's turn. Blocks of a cooperative launch wait for each
// other, and then a long turn is lost.
constexpr std::uint64_t kTurn = 1 << 18, kTurnTogether = 1 << 10;
constexpr std::size_t kMostResident = 1024;

}  // namespace

Fault run(Grid& grid) {
  std::deque<std::unique_ptr<Block>> resident;
  std::unique_ptr<Block> spare;
  const std::uint64_t blocks = grid.shape().blocks();
  const bool together = grid.shape().together;
  for (std::uint64_t next = 0; !grid.failed() && (next < blocks || !resident.empty());) {
    std::unique_ptr<Block> block;
    if (next < blocks && (together || resident.size() < kMostResident)) {
      block = spare ? std::move(spare) : std::make_unique<Block>(grid, grid.code());
      block->restart(next++);
    } else {
      block = std::move(resident.front());
      resident.pop_front();
    }
    const Block::State state = block->run(together ? kTurnTogether : kTurn);
    if (state == Block::State::kEnded) {
      spare = std::move(block);
    } else {
      resident.push_back(std::move(block));
    }
    if (state == Block::State::kStuck) {
      grid.fail({.code = CUDA_ERROR_LAUNCH_TIMEOUT,
                 .what = "all threads of a block wait for each other, and none will go on"});
    }
  }
  grid.flush();
  return grid.fault();
}

}  // namespace cuvmm::kernels
