// SPDX-License-Identifier: Apache-2.0
#include "emulator/capture/graph_allocation.h"

#include <set>
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
  if (pages > e.devices.free(device)) return CUDA_ERROR_OUT_OF_MEMORY;
  e.plain.put({.base = memory.base(),
               .size = size,
               .context = e.current_context(),
               .memory = Physical(pages, memory.prop(), false, pages, e.devices.account(device)),
               .pool = memory.pool(),
               .of_graph = memory.range()});
  return CUDA_SUCCESS;
}

namespace {

// The nodes that come before a node with these dependencies.
std::set<const GraphNode*> ancestors(const std::vector<GraphNode*>& before) {
  std::set<const GraphNode*> all;
  std::vector<const GraphNode*> next(before.begin(), before.end());
  while (!next.empty()) {
    const GraphNode* const node = next.back();
    next.pop_back();
    if (!all.insert(node).second) continue;
    for (const Dependency& each : node->dependencies) next.push_back(each.on);
  }
  return all;
}

// Whether each allocation at the address is freed by one of these nodes.
bool freed_in(const GraphNodes& nodes, const std::set<const GraphNode*>& done, Address address) {
  std::size_t allocations = 0, frees = 0;
  for (const auto& node : nodes) {
    allocations += node->memory && node->memory->base() == address;
    const auto* free = std::get_if<CUDA_MEM_FREE_NODE_PARAMS>(&node->params);
    frees += free && free->dptr == address && done.contains(node.get());
  }
  return allocations == frees;
}

}  // namespace

std::shared_ptr<NodeMemory> memory_for(Emulator& e, const GraphNodes& nodes,
                                       const std::vector<GraphNode*>& before, Size size,
                                       const Pool& pool) {
  const auto done = ancestors(before);
  for (const auto& node : nodes) {
    const NodeMemory* const other = node->memory.get();
    if (!other || other->pool() != pool.handle() || other->range()->size() < size) continue;
    if (freed_in(nodes, done, other->base())) return std::make_shared<NodeMemory>(*other, size);
  }
  const auto base = e.space.take_apart(size);
  if (!base) return nullptr;
  return std::make_shared<NodeMemory>(e.space, *base, size, pool);
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

namespace {

// The addresses that a launch frees, and that no node of the graph itself allocates before.
template <class Visit>
void each_foreign_free(const Steps& steps, Visit&& visit) {
  std::set<Address> own;
  for_each_step(steps, [&](const Step& step) {
    if (step.node->memory) own.insert(step.node->memory->base());
    const auto* const free = std::get_if<CUDA_MEM_FREE_NODE_PARAMS>(&step.node->params);
    if (free && own.erase(free->dptr) == 0) visit(free->dptr);
    return CUDA_SUCCESS;
  });
}

}  // namespace

bool frees_nothing(Emulator& e, const Executable& executable) {
  bool missing = false;
  each_foreign_free(executable.steps(),
                    [&](Address address) { missing = missing || !e.plain.find(address); });
  return missing;
}

std::optional<std::vector<Address>> announce_frees(Emulator& e, const Steps& steps) {
  std::vector<Address> announced;
  bool twice = false;
  each_foreign_free(steps, [&](Address address) {
    PlainAllocation* const there = e.plain.find(address);
    if (!there) return;
    twice = twice || there->ending;
    if (!std::exchange(there->ending, true)) announced.push_back(address);
  });
  if (!twice) return announced;
  take_back_frees(e, announced);
  return std::nullopt;
}

void take_back_frees(Emulator& e, const std::vector<Address>& announced) {
  for (const Address address : announced) {
    if (PlainAllocation* const there = e.plain.find(address)) there->ending = false;
  }
}

CUresult free_node_memory(Emulator& e, Address address) {
  PlainAllocation* const found = e.plain.find(address);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  if (found->again != 0) {
    // A later launch that allocates the memory again is queued already.
    --found->again;
    found->coming = true;
    return CUDA_SUCCESS;
  }
  if (!found->of_graph) e.pools.freed(found->pool, found->size, true);
  e.plain.end(address);
  return CUDA_SUCCESS;
}

bool is_of_a_graph(const Emulator& e, Address address) {
  const NodeMemory* memory = e.graphs.memory_at(address);
  const PlainAllocation* plain = e.plain.at(address);
  return (memory && memory->base() == address) ||
         (plain && plain->base == address && plain->of_graph);
}

}  // namespace cuvmm::emulator
