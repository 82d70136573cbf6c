// SPDX-License-Identifier: Apache-2.0
#include "emulator/capture/graph_allocation.h"

#include <utility>

#include "api/sizes.h"

namespace cuvmm::emulator {

CUresult allocate(Emulator& e, const NodeMemory& memory) {
  const Size size = memory.size();
  const int device = memory.device();
  if (PlainAllocation* const there = e.plain.find(memory.base())) {
    return std::exchange(there->coming, false) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  const Size pages = (size + kPage - 1) / kPage * kPage;
  const auto by_pool = e.pools.growth(memory.pool(), size);
  if (by_pool.value_or(pages) > e.devices.free(device)) return CUDA_ERROR_OUT_OF_MEMORY;
  e.plain.put({.base = memory.base(),
               .size = size,
               .context = e.current_context(),
               .memory = Physical(pages, memory.prop(), false, by_pool ? 0 : pages,
                                  e.devices.account(device)),
               .pool = memory.pool(),
               .kept = memory.range()});
  e.pools.took(memory.pool(), size);
  return CUDA_SUCCESS;
}

bool lives_on(Emulator& e, const Executable& executable) {
  if (executable.flags() & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) return false;
  const CUresult result = for_each_step(executable.steps(), [&](const Step& step) {
    const NodeMemory* const memory = step.node->memory.get();
    const bool lives = memory && e.plain.find(memory->base());
    return lives ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
  return result != CUDA_SUCCESS;
}

std::vector<Address> announce(Emulator& e, const Steps& steps) {
  std::vector<Address> announced;
  for_each_step(steps, [&](const Step& step) {
    const NodeMemory* const memory = step.node->memory.get();
    if (!memory) return CUDA_SUCCESS;
    if (PlainAllocation* const there = e.plain.find(memory->base())) {
      // An earlier launch allocates the memory, and a free between the two launches is queued.
      if (!std::exchange(there->ending, false)) return CUDA_SUCCESS;
      ++there->again;
    } else {
      if (allocate(e, *memory) != CUDA_SUCCESS) return CUDA_SUCCESS;
      e.plain.find(memory->base())->coming = true;
    }
    announced.push_back(memory->base());
    return CUDA_SUCCESS;
  });
  return announced;
}

void take_back(Emulator& e, const std::vector<Address>& announced) {
  for (const Address address : announced) {
    PlainAllocation* const there = e.plain.find(address);
    if (!there || there->again == 0) {
      free_node_memory(e, address);
    } else {
      --there->again;
      there->ending = true;
    }
  }
}

CUresult free_node_memory(Emulator& e, Address address) {
  const PlainAllocation* found = e.plain.find(address);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  e.pools.freed(found->pool, found->size, true);
  e.plain.end(address);
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
