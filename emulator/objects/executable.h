// SPDX-License-Identifier: Apache-2.0
// The steps of an instantiated graph.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "emulator/objects/graph.h"
#include "emulator/objects/graph_memory.h"

namespace cuvmm::emulator {

/// A node of an executable graph. Steps run in their order.
struct Step {
  CUgraphNode original = nullptr;
  std::shared_ptr<GraphNode> node;  ///< a copy: parameters of the original may change later
  std::vector<std::vector<Step>> bodies{};
  bool enabled = true;  ///< launches run it
};
using Steps = std::vector<Step>;

/// Runs body(step) for each step, and after a step for those of its bodies, until one does not
/// succeed.
template <class Body>
CUresult for_each_step(const Steps& steps, Body&& body) {
  for (const Step& step : steps) {
    CUresult result = body(step);
    for (std::size_t i = 0; i < step.bodies.size() && result == CUDA_SUCCESS; ++i) {
      result = for_each_step(step.bodies[i], body);
    }
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

class Executable {
 public:
  /// `memory`: the graph has nodes of memory. `objects`: references that it holds.
  Executable(CUgraph graph, Steps&& steps, unsigned long long flags, bool memory = false,
             std::map<CUuserObject, unsigned>&& objects = {});

  CUgraph graph() const { return graph_; }
  const Steps& steps() const { return steps_; }
  Steps& steps() { return steps_; }
  unsigned long long flags() const { return flags_; }
  bool of_memory() const { return of_memory_; }
  const std::map<CUuserObject, unsigned>& user_objects() const { return user_objects_; }
  /// The step of a node of the graph, or of a body; null: the executable graph has no such node.
  Step* step_of(CUgraphNode original);

  /// A launch or an upload begins, for which each device holds the bytes of the graph's
  /// allocations, as a block.
  void take_memory(GraphMemory& memory);
  /// The work that the newest launch queued: the next launch comes after it, on whatever stream.
  std::uint64_t& last_launch() { return last_launch_; }
  /// The executable graph is destroyed: the bytes stay with the devices.
  void end(GraphMemory& memory);

 private:
  CUgraph graph_;
  Steps steps_;
  unsigned long long flags_;
  bool of_memory_;
  std::map<CUuserObject, unsigned> user_objects_;
  std::vector<std::uint64_t> blocks_{};  ///< in GraphMemory, since the first launch
  bool took_memory_ = false;
  std::uint64_t last_launch_ = 0;
};

}  // namespace cuvmm::emulator
