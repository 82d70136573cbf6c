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

class Grid {
 public:
  /// `parameters`: Code::parameter_bytes of them. `steps`: instructions of threads before it is
  /// ended as one that will not end by itself.
  Grid(const Code& code, const Shape& shape, const std::vector<char>& parameters, Memory& memory,
       std::uint64_t steps);

  // For what it is made of (block.h), and what runs it (run_grid.h).
  const Code& code() const { return code_; }
  const Shape& shape() const { return shape_; }
  Memory& memory() { return memory_; }
  const std::vector<char>& parameters() const { return parameters_; }
  std::uint64_t steps() const { return steps_; }
  std::uint64_t number() const { return number_; }
  /// False: none is left.
  bool spend(std::uint64_t steps) {
    steps_ += steps;
    return steps_ <= most_steps_;
  }
  bool failed() const { return static_cast<bool>(fault_); }
  const Fault& fault() const { return fault_; }
  void fail(Fault&& fault) {
    if (!fault_) fault_ = std::move(fault);
  }
  /// What the kernel prints; written when there is much of it, and at the end.
  void print(std::string_view text);
  void flush();

 private:
  const Code& code_;
  const Shape& shape_;
  const std::vector<char>& parameters_;
  Memory& memory_;
  std::uint64_t steps_ = 0, most_steps_;
  std::uint64_t number_;
  Fault fault_;
  std::string printed_;
};

}  // namespace cuvmm::kernels
