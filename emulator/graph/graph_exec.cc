// SPDX-License-Identifier: Apache-2.0
// From a graph to its launches.
#include <atomic>
#include <utility>

#include "emulator/base/refusal.h"
#include "emulator/entry/export.h"
#include "emulator/entry/locked.h"
#include "emulator/graph/graph_allocation.h"

namespace cuvmm::emulator {

namespace {

constexpr unsigned long long kFlags =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
    CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
constexpr unsigned long long kNotTogether =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;

// Whether a graph with memory nodes is instantiated, which it can be once at a time.
bool taken(const Graphs& graphs, CUgraph graph) {
  return graphs.find(graph)->has_memory_nodes() && graphs.instantiated(graph);
}

struct Failure {
  CUgraphInstantiateResult why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  CUgraphNode node = nullptr;
};

CUresult instantiate(CUgraphExec* out, CUgraph graph, unsigned long long flags,
                     Failure& failure) noexcept {
  failure.why = CUDA_GRAPH_INSTANTIATE_ERROR;
  return with_context([&](Emulator& e, Context&) -> CUresult {
    Graphs& graphs = e.graphs;
    const Graph* found = graphs.find(graph);
    if (!out || !found || found->parent || (flags & ~kFlags) != 0 ||
        (flags & kNotTogether) == kNotTogether || taken(graphs, graph)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    Steps steps;
    if (!graphs.order(graph, steps)) {
      failure.why = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (!graphs.uses_all_conditions(graph)) {
      failure.why = static_cast<CUgraphInstantiateResult>(5);  // ..._CONDITIONAL_HANDLE_UNUSED
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult result = for_each_step(steps, [&](const Step& step) -> CUresult {
      const CUresult checked = step.node->check ? step.node->check(e) : CUDA_SUCCESS;
      if (checked != CUDA_SUCCESS) failure.node = step.original;
      return checked;
    });
    if (result != CUDA_SUCCESS) return result;
    *out = graphs.add(Executable(graph, std::move(steps), flags));
    failure.why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return CUDA_SUCCESS;
  });
}

CUresult run(const Steps& steps) noexcept;

CUresult run_condition(const Step& step) noexcept {
  const auto& params = std::get<CUDA_CONDITIONAL_NODE_PARAMS>(step.node->params);
  unsigned value = 0;
  locked([&](Emulator& e) -> CUresult {
    const Condition* found = e.graphs.find(params.handle);
    if (found) value = found->at_launch;
    return CUDA_SUCCESS;
  });
  std::size_t body = value;  // a switch's
  if (params.type == CU_GRAPH_COND_TYPE_IF) body = value ? 0 : 1;
  if (params.type == CU_GRAPH_COND_TYPE_WHILE) {
    if (value == 0) return CUDA_SUCCESS;
    static std::atomic<bool> said{false};
    return refuse_once(said, "cuGraphLaunch (of a loop that only a kernel would end)");
  }
  return body < step.bodies.size() ? run(step.bodies[body]) : CUDA_SUCCESS;
}

// Without the lock, which each node takes: a host function may call the driver.
CUresult run(const Steps& steps) noexcept {
  CUresult result = CUDA_SUCCESS;
  for (std::size_t i = 0; i < steps.size() && result == CUDA_SUCCESS; ++i) {
    const GraphNode& node = *steps[i].node;
    if (node.host) {
      node.host(node.data);
    } else if (node.run) {
      result = locked([&](Emulator& e) { return node.run(e); });
    } else if (node.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
      result = run_condition(steps[i]);
    } else if (node.type == CU_GRAPH_NODE_TYPE_GRAPH) {
      result = run(steps[i].bodies.front());
    }
  }
  return result;
}

CUresult launch(CUgraphExec handle) noexcept {
  Steps steps;
  const CUresult found = with_context([&](Emulator& e, Context&) -> CUresult {
    Executable* executable = e.graphs.find(handle);
    if (!executable) return CUDA_ERROR_INVALID_VALUE;
    steps = executable->steps();
    executable->begin_launch(e.graph_memory);
    if (!(executable->flags() & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
      return CUDA_SUCCESS;
    return for_each_step(steps, [&](const Step& step) -> CUresult {
      if (step.node->memory) free_node_memory(e, step.node->memory->base());
      return CUDA_SUCCESS;
    });
  });
  if (found != CUDA_SUCCESS) return found;
  const CUresult result = run(steps);
  // Another thread may have destroyed the graph, and nodes end under the lock.
  locked([&](Emulator&) { return steps.clear(), CUDA_SUCCESS; });
  return result;
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuGraphInstantiateWithFlags, CUgraphExec* out, CUgraph graph,
                      unsigned long long flags) {
  Failure failure;
  return instantiate(out, graph, flags, failure);
}

CUVMM_DRIVER_FUNCTION(cuGraphInstantiateWithParams, CUgraphExec* out, CUgraph graph,
                      CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  Failure failure;
  // Without parameters: flags that no driver knows.
  const CUresult result = instantiate(out, graph, params ? params->flags : ~0ull, failure);
  if (!params) return result;
  params->result_out = failure.why;
  params->hErrNode_out = failure.node;
  return result;
}
CUVMM_DRIVER_ALIAS(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams);

// The second ABI writes a log, of which this library has nothing to say.
CUVMM_DRIVER_FUNCTION(cuGraphInstantiate_v2, CUgraphExec* out, CUgraph graph, CUgraphNode* node,
                      char* log, size_t size) {
  Failure failure;
  const CUresult result = instantiate(out, graph, 0, failure);
  if (node) *node = failure.node;
  if (log && size) *log = '\0';
  return result;
}
CUVMM_DRIVER_ALIAS(cuGraphInstantiate, cuGraphInstantiate_v2);

CUVMM_DRIVER_FUNCTION(cuGraphExecGetFlags, CUgraphExec handle, cuuint64_t* flags) {
  return locked([&](Emulator& e) -> CUresult {
    const Executable* found = e.graphs.find(handle);
    if (!found || !flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = found->flags();
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphExecDestroy, CUgraphExec handle) {
  return locked([&](Emulator& e) -> CUresult {
    Executable* found = e.graphs.find(handle);
    if (!found) return CUDA_ERROR_INVALID_VALUE;
    found->end(e.graph_memory);
    e.graphs.erase(handle);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphLaunch, CUgraphExec executable, CUstream) {
  return launch(executable);
}
CUVMM_DRIVER_ALIAS(cuGraphLaunch_ptsz, cuGraphLaunch);

}  // namespace cuvmm::emulator
