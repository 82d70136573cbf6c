// SPDX-License-Identifier: Apache-2.0
// A block of threads: its warps take turns, and meet at barriers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/run/block_view.h"
#include "kernels/run/warp.h"

namespace cuvmm::kernels {

class Block final : public BlockView {
 public:
  /// The block is in the cluster from now on.
  Block(Grid& grid, const Code& code, Cluster& cluster, unsigned rank);

  /// Starts again from the beginning, as another block of the grid.
  void restart(const unsigned (&index)[3]);
  bool ended() const { return live_ == 0; }

  enum class State : std::uint8_t { kEnded, kAgain, kStuck };
  /// Runs about `most` instructions of warps. kStuck: all threads wait, and no event will wake one.
  State run(std::uint64_t most);
  /// The first instruction at which a thread waits; null: none waits.
  const Instruction* waits_at() const;

  bool arrive(unsigned barrier, unsigned threads, unsigned expected,
              unsigned with_predicate) override;
  void threads_ended(unsigned threads) override;
  void release(unsigned barrier) override;

 private:
  struct Barrier {
    unsigned arrived = 0;
    unsigned expected = 0;
    Reduction reduction;
  };
  bool open_if_complete(unsigned barrier);

  std::vector<std::unique_ptr<Warp>> warps_;
  std::array<Barrier, kBarriers> barriers_{};
  unsigned threads_ = 0;
  unsigned live_ = 0;
};

}  // namespace cuvmm::kernels
