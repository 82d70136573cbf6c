// SPDX-License-Identifier: Apache-2.0
#include "emulator/graph/update/graph_update.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "emulator/code/kernel_params.h"
#include "emulator/graph/update/node_pairs.h"
#include "emulator/objects/node_memory.h"

namespace cuvmm::emulator {

namespace {

const KernelParams* kernel_of(const GraphNode& node) {
  const auto* kernel = std::get_if<std::shared_ptr<const KernelParams>>(&node.params);
  return kernel ? kernel->get() : nullptr;
}

bool same_function(const GraphNode& a, const GraphNode& b) {
  const KernelParams* first = kernel_of(a);
  const KernelParams* second = kernel_of(b);
  return first && second && first->params().func == second->params().func &&
         first->params().kern == second->params().kern;
}

// The device on which memory lies; -1 for memory of the host, and for unknown memory.
int device_at(const Emulator& e, Address address) {
  const Physical* memory = nullptr;
  if (const Mapping* mapping = e.model.mapping_at(address)) {
    memory = e.physical.find(mapping->handle);
  } else if (const PlainAllocation* plain = e.plain.at(address)) {
    memory = &plain->memory;
  }
  const bool on_device = memory && memory->prop().location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  return on_device ? memory->prop().location.id : -1;
}

bool may_become(const Emulator& e, const CUDA_MEMSET_NODE_PARAMS& from,
                const CUDA_MEMSET_NODE_PARAMS& to) {
  if (device_at(e, from.dst) != device_at(e, to.dst)) return false;
  if (from.height == 1 && to.height == 1) return true;
  // Only the address and the value of a fill of several rows can change.
  return from.height == to.height && from.width == to.width && from.pitch == to.pitch &&
         from.elementSize == to.elementSize;
}

bool may_become(const Emulator& e, const CUDA_MEMCPY3D& from, const CUDA_MEMCPY3D& to) {
  return from.srcMemoryType == to.srcMemoryType && from.dstMemoryType == to.dstMemoryType &&
         device_at(e, from.srcDevice) == device_at(e, to.srcDevice) &&
         device_at(e, from.dstDevice) == device_at(e, to.dstDevice);
}

bool may_become(const Emulator&, const CUDA_CONDITIONAL_NODE_PARAMS& from,
                const CUDA_CONDITIONAL_NODE_PARAMS& to) {
  return from.type == to.type && from.size == to.size;
}

template <class Params>
CUgraphExecUpdateResult compare(const Emulator& e, const GraphNode& from, const GraphNode& to) {
  const auto* a = std::get_if<Params>(&from.params);
  const auto* b = std::get_if<Params>(&to.params);
  // Captured work has no parameters to compare.
  if (!a || !b) return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  return may_become(e, *a, *b) ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                               : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

CUlaunchAttributeValue attribute(const GraphNode& node, int id) {
  const auto found = node.attributes.find(id);
  return found == node.attributes.end() ? CUlaunchAttributeValue{} : found->second;
}

CUgraphExecUpdateResult compare_kernels(const GraphNode& from, const GraphNode& to,
                                        unsigned long long flags) {
  if (!same_context(from, to)) return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
  constexpr int kTogether = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  constexpr int kPriority = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  const bool by_priority = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0;
  const bool same =
      attribute(from, kTogether).cooperative == attribute(to, kTogether).cooperative &&
      (!by_priority || attribute(from, kPriority).priority == attribute(to, kPriority).priority);
  return same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
}

CUgraphExecUpdateResult compare(const Emulator& e, const GraphNode& from, const GraphNode& to,
                                unsigned long long flags) {
  switch (from.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return compare_kernels(from, to, flags);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return compare<CUDA_MEMCPY3D>(e, from, to);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return compare<CUDA_MEMSET_NODE_PARAMS>(e, from, to);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return compare<CUDA_CONDITIONAL_NODE_PARAMS>(e, from, to);
    default:  // also nodes that allocate or free, which an H100's driver does not compare
      return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  }
}

bool allocates(const Steps& steps, Address address) {
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
    return step.node->memory && step.node->memory->holds(address);
  });
}

bool frees(const Graph& graph, Address address) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const auto& node) {
    const auto* params = std::get_if<CUDA_MEM_FREE_NODE_PARAMS>(&node->params);
    return params && params->dptr == address;
  });
}

/// Whether a fill or a copy uses memory that the new graph allocates and frees, and that the
/// executable graph does not allocate: an H100's driver (580.159.04) refuses that. The driver
/// accepts memory that the new graph does not free.
bool uses_passing_memory(const Steps& steps, const Graph& graph, const GraphNode& to) {
  const auto passing = [&](Address address) {
    for (const auto& node : graph.nodes) {
      if (!node->memory || !node->memory->holds(address)) continue;
      return frees(graph, node->memory->base()) && !allocates(steps, address);
    }
    return false;
  };
  if (const auto* fill = std::get_if<CUDA_MEMSET_NODE_PARAMS>(&to.params))
    return passing(fill->dst);
  const auto* copy = std::get_if<CUDA_MEMCPY3D>(&to.params);
  return copy && (passing(copy->srcDevice) || passing(copy->dstDevice));
}

/// A step, and the node that gives it new parameters.
struct Change {
  Step* step;
  const GraphNode* node;
};

UpdateResult collect(Emulator& e, Steps& steps, CUgraph graph, unsigned long long flags,
                     std::vector<Change>& out) {
  const Graph* found = e.graphs.find(graph);
  if (!found) return {CU_GRAPH_EXEC_UPDATE_ERROR};
  NodePairs pairs;
  const UpdateResult paired = pairs.match(steps, found->nodes);
  if (!paired.good()) return paired;
  // Types are compared first, from the ends of the graph (recorded).
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const GraphNode& to = *pairs.of(*step);
    if (step->node->type == to.type) continue;
    return {CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, const_cast<GraphNode&>(to).handle()};
  }
  for (Step& step : steps) {
    const GraphNode& to = *pairs.of(step);
    CUgraphNode node = const_cast<GraphNode&>(to).handle();
    const CUgraphExecUpdateResult compared = compare(e, *step.node, to, flags);
    if (compared != CU_GRAPH_EXEC_UPDATE_SUCCESS) return {compared, node};
    if (uses_passing_memory(steps, *found, to)) return {CU_GRAPH_EXEC_UPDATE_ERROR, node};
    // The code of a kernel that stays may be unloaded (an H200, which dies of another kernel's).
    const bool checks = to.check && !same_function(*step.node, to);
    if (checks && to.check(e) != CUDA_SUCCESS) return {CU_GRAPH_EXEC_UPDATE_ERROR, node};
    for (std::size_t i = 0; i < step.bodies.size(); ++i) {
      const UpdateResult body = collect(e, step.bodies[i], to.bodies[i], flags, out);
      if (!body.good()) return body;
    }
    out.push_back({&step, &to});
  }
  return {};
}

}  // namespace

bool same_context(const GraphNode& a, const GraphNode& b) {
  const KernelParams* first = kernel_of(a);
  const KernelParams* second = kernel_of(b);
  return !first || !second || &first->context() == &second->context();
}

UpdateResult update(Emulator& e, Steps& steps, CUgraph graph, unsigned long long flags) {
  std::vector<Change> changes;
  const UpdateResult result = collect(e, steps, graph, flags, changes);
  if (!result.good()) return result;
  for (const Change& change : changes) {
    auto node = std::make_shared<GraphNode>(*change.node);  // a launch may still use the old node
    // These members identify the step at the next update.
    node->dependencies = change.step->node->dependencies;
    node->original = change.step->node->original;
    change.step->node = std::move(node);
  }
  return result;
}

}  // namespace cuvmm::emulator
