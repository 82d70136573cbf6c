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

Executable::Executable(CUgraph graph, Steps&& steps, unsigned long long flags, bool memory,
                       std::map<CUuserObject, unsigned>&& objects)
    : graph_(graph),
      steps_(std::move(steps)),
      flags_(flags),
      of_memory_(memory),
      user_objects_(std::move(objects)) {}

Step* Executable::step_of(CUgraphNode original) { return find(steps_, original); }

void Executable::take_memory(GraphMemory& memory) {
  if (std::exchange(took_memory_, true)) {
    for (const std::uint64_t block : blocks_) memory.use(block);
    return;
  }
  std::map<int, GraphMemory::Block> blocks;
  for_each_step(steps_, [&](const Step& step) {
    if (const NodeMemory* node = step.node->memory.get()) {
      auto& block = blocks[node->device()];
      block.bytes += node->size();
      block.allocations.push_back(node->base());
    }
    return CUDA_SUCCESS;
  });
  for (auto& [device, block] : blocks) blocks_.push_back(memory.take(device, std::move(block)));
}

void Executable::end(GraphMemory& memory) {
  for (const std::uint64_t block : blocks_) memory.leave(block);
}

}  // namespace cuvmm::emulator
