// SPDX-License-Identifier: Apache-2.0
// Looks for the mistakes of kernels that change no result here, because the emulator's memory is
// zero at first and its threads run in one order.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "kernels/run/grid.h"
#include "kernels/watch/checks.h"
#include "kernels/watch/order.h"
#include "kernels/watch/words.h"

namespace cuvmm::kernels {

class Watch final : public Watcher {
 public:
  /// `found` receives each mistake once for each pair of lines.
  Watch(const Checks& checks, const Shape& shape, Memory& memory, std::vector<Fault>& found)
      : checks_(checks), shape_(shape), memory_(memory), found_(found) {}

  void before(Warp& warp, const Instruction& i, Mask m) override;
  void writes(std::uint64_t address, unsigned size) override;
  void met(Warp& warp, const Instruction& i, Mask m) override;
  void arrives(Warp& warp, const Instruction& i, Mask m, unsigned barrier,
               unsigned expected) override;
  void opens(BlockView& block, unsigned barrier, bool all) override;
  void starts(BlockView& block) override;

 private:
  struct Inside {
    explicit Inside(Moments& moments, unsigned threads) : order(moments, threads) {}
    BlockOrder order;
    Words shared;
    std::uint32_t number = 0;  ///< of the block in the grid
    /// The instruction at which lanes of a warp wait for a barrier; null: none does.
    std::vector<const Instruction*> waits;
  };
  Inside& inside(BlockView& block);
  void check_written(Warp& warp, const Instruction& i, unsigned lane, std::uint64_t address);
  void check_race(Warp& warp, const Instruction& i, unsigned lane, std::uint64_t address,
                  bool shared);
  void race(Warp& warp, const Instruction& i, unsigned lane, std::uint64_t address, bool shared,
            const Mark& now, const Mark& other);
  bool is_new(Wrong wrong, const Instruction& i, std::uint32_t other);
  std::string thread_text(const Mark& mark) const;

  const Checks checks_;
  const Shape& shape_;
  Memory& memory_;
  std::vector<Fault>& found_;
  Moments moments_;
  Words global_;
  std::unordered_map<const BlockView*, std::unique_ptr<Inside>> blocks_;
  const BlockView* last_block_ = nullptr;
  Inside* last_ = nullptr;
  std::set<std::tuple<Wrong, int, std::uint32_t>> known_;
};

}  // namespace cuvmm::kernels
