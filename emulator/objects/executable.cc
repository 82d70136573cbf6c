// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/executable.h"

#include <utility>

namespace cuvmm::emulator {

namespace {

Step* find(Steps& steps, CUgraphNode original) {
  for (Step& step : steps) {
    if (step.original == original) return &step;
    for (Steps& body : step.bodies) {
      if (Step* found = find(body, original)) return found;
    }
  }
  return nullptr;
}

}  // namespace

Executable::Executable(CUgraph graph, Steps&& steps, unsigned long long flags)
    : graph_(graph), steps_(std::move(steps)), flags_(flags) {}

Step* Executable::step_of(CUgraphNode original) { return find(steps_, original); }

void Executable::begin_launch(GraphMemory& memory) {
  if (std::exchange(launched_, true)) return;
  for_each_step(steps_, [&](const Step& step) {
    if (const NodeMemory* node = step.node->memory.get()) memory_[node->device()] += node->size();
    return CUDA_SUCCESS;
  });
  for (const auto& [device, bytes] : memory_) memory.take(device, bytes);
}

void Executable::end(GraphMemory& memory) {
  if (!launched_) return;
  for (const auto& [device, bytes] : memory_) memory.leave(device, bytes);
}

}  // namespace cuvmm::emulator
