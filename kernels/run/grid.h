// SPDX-License-Identifier: Apache-2.0
// A launch of a kernel, from its first thread to its last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/run/code.h"
#include "kernels/run/fault.h"
#include "kernels/run/memory.h"
#include "kernels/run/shape.h"

namespace cuvmm::kernels {

class BlockView;
class Warp;

/// Looks for mistakes that change no result here (kernels/watch/). Called for threads in the order
/// in which they run.
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// Lanes are about to carry the instruction out.
  virtual void before(Warp& warp, const Instruction& i, Mask m) = 0;
  /// A lane writes global memory by an instruction that has no MemoryEffect.
  virtual void writes(std::uint64_t address, unsigned size) = 0;
  /// Lanes of a warp have met.
  virtual void met(Warp& warp, const Instruction& i, Mask m) = 0;
  /// Lanes arrive at a barrier of the block.
  virtual void arrives(Warp& warp, const Instruction& i, Mask m, unsigned barrier,
                       unsigned expected) = 0;
  /// The barrier of the block opens; `all`: all threads of the block were expected there.
  virtual void opens(BlockView& block, unsigned barrier, bool all) = 0;
  virtual void starts(BlockView& block) = 0;
};

class Grid {
 public:
  /// `parameters`: Code::parameter_bytes bytes. `steps`: the number of instructions of threads
  /// after which the launch is taken for endless and ends.
  Grid(const Code& code, const Shape& shape, const std::vector<char>& parameters, Memory& memory,
       std::uint64_t steps, Watcher* watcher = nullptr);

  // For Block (block.h), and for run() (run_grid.h).
  const Code& code() const { return code_; }
  const Shape& shape() const { return shape_; }
  Memory& memory() { return memory_; }
  Watcher* watcher() const { return watcher_; }  ///< null: nobody watches
  const std::vector<char>& parameters() const { return parameters_; }
  std::uint64_t steps() const { return steps_; }
  std::uint64_t number() const { return number_; }
  /// A cooperative launch has memory in which its blocks meet; it begins as zeros.
  static constexpr std::uint64_t kWorkspaceBytes = 64;
  char* workspace() { return workspace_; }
  std::uint64_t steps_left() const { return most_steps_ - steps_; }
  /// Counts steps, at most steps_left().
  void spend(std::uint64_t steps) { steps_ += steps; }
  bool failed() const { return static_cast<bool>(fault_); }
  const Fault& fault() const { return fault_; }
  void fail(Fault&& fault) {
    if (!fault_) fault_ = std::move(fault);
  }
  /// Collects the text that the kernel prints; writes it when much has collected, and at the end.
  void print(std::string_view text);
  void flush();

 private:
  const Code& code_;
  const Shape& shape_;
  const std::vector<char>& parameters_;
  Memory& memory_;
  std::uint64_t steps_ = 0, most_steps_;
  Watcher* const watcher_;
  std::uint64_t number_;
  alignas(8) char workspace_[kWorkspaceBytes] = {};
  Fault fault_;
  std::string printed_;
};

}  // namespace cuvmm::kernels
