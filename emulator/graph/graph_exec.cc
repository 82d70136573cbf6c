// SPDX-License-Identifier: Apache-2.0
// The calls that instantiate and launch a graph.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "emulator/capture/graph_allocation.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/core/work.h"
#include "emulator/graph/graph_run.h"
#include "emulator/graph/user_objects.h"

namespace cuvmm::emulator {

namespace {

constexpr unsigned long long kFlags =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
    CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
constexpr unsigned long long kNotTogether =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;

// Whether an executable graph of a graph with memory nodes exists: such a graph can have only one
// at a time.
bool taken(const Graphs& graphs, CUgraph graph) {
  return graphs.find(graph)->has_memory_nodes() && graphs.instantiated_with_memory(graph);
}

// The flag names the stream of cuGraphInstantiateWithParams; the other forms have none, and refuse
// it (recorded).
constexpr unsigned long long kOfParams = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;

// A graph that kernels launch has work, and nothing but kernels, copies, fills and such graphs.
bool for_device(const Graphs& graphs, const Graph& graph) {
  return !graph.nodes.empty() &&
         std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const auto& node) {
           const auto type = node->type;
           if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
             return for_device(graphs, *graphs.find(node->bodies.front()));
           }
           return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
                  type == CU_GRAPH_NODE_TYPE_MEMSET;
         });
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
    if (!out || !found || found->parent || found->broken || (flags & ~kFlags) != 0 ||
        (flags & kNotTogether) == kNotTogether ||
        ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0 && !for_device(graphs, *found))) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (taken(graphs, graph)) return CUDA_ERROR_NOT_SUPPORTED;
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
    for_each_step(steps, [](const Step& step) {
      if (step.node->memory) step.node->memory->instantiate();
      return CUDA_SUCCESS;
    });
    auto objects = found->user_objects;
    for (const auto& [object, count] : objects) graphs.retain(object, count);
    *out = graphs.add(
        Executable(graph, std::move(steps), flags, found->has_memory_nodes(), std::move(objects)));
    failure.why = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return CUDA_SUCCESS;
  });
}

CUresult launch(CUgraphExec handle, CUstream stream) noexcept {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    if (!Streams::is_default(stream) && !e.streams.find(stream)) return e.streams.no_stream(stream);
    if (e.captures.of(stream)) return e.captures.refuse_stream(stream);
    Executable* executable = e.graphs.find(handle);
    if (!executable) return CUDA_ERROR_INVALID_VALUE;
    // Work that is queued behind a wait holds up the work behind it in eager streams, too.
    const bool waits = !e.queues.idle();
    const bool queues = (Queues::late() || waits) && !Queues::inside();
    const bool settled = !queues || !waits;
    if (settled && (lives_on(e, *executable) || frees_nothing(e, *executable)))
      return CUDA_ERROR_INVALID_VALUE;
    std::optional<std::vector<Address>> freed;
    if (queues) freed = announce_frees(e, executable->steps());
    if (queues && !freed) return CUDA_ERROR_INVALID_VALUE;
    e.graph_memory.look([&](Address address) { return e.plain.find(address) != nullptr; });
    executable->take_memory(e.graph_memory);
    std::vector<Address> announced;
    if (queues) announced = announce(e, executable->steps());
    const auto run = std::make_shared<GraphRun>(*executable);
    WorkId last = executable->last_launch();
    const CUresult result = submit(
        e, stream, [run](Emulator& at) { return run->go_on(at); }, &last);
    // The lock may have been free meanwhile: the program may have destroyed the graph.
    if (Executable* const still = e.graphs.find(handle)) still->last_launch() = last;
    if (result != CUDA_SUCCESS) {
      take_back(e, announced);
      if (freed) take_back_frees(e, *freed);
    }
    return result;
  });
}

}  // namespace

CUresult run_base(const calls::GraphInstantiateWithFlags& call) noexcept {
  Failure failure;
  const bool of_params = (call.flags & kOfParams) != 0;
  return instantiate(call.phGraphExec, call.hGraph, of_params ? ~0ull : call.flags, failure);
}

CUresult run_base(const calls::GraphInstantiateWithParams& call) noexcept {
  CUDA_GRAPH_INSTANTIATE_PARAMS* const params = call.instantiateParams;
  Failure failure;
  // Without parameters: flags that every driver refuses.
  const CUresult result =
      instantiate(call.phGraphExec, call.hGraph, params ? params->flags : ~0ull, failure);
  if (!params) return result;
  params->result_out = failure.why;
  params->hErrNode_out = failure.node;
  return result;
}

// This form has a buffer for a log, which stays empty.
CUresult run_base(const calls::GraphInstantiate_v2& call) noexcept {
  Failure failure;
  const CUresult result = instantiate(call.phGraphExec, call.hGraph, 0, failure);
  if (call.phErrorNode) *call.phErrorNode = failure.node;
  if (call.logBuffer && call.bufferSize) *call.logBuffer = '\0';
  return result;
}

CUVMM_DRIVER_FUNCTION(cuGraphExecGetFlags, CUgraphExec handle, cuuint64_t* flags) {
  return locked([&](Emulator& e) -> CUresult {
    const Executable* found = e.graphs.find(handle);
    if (!found || !flags) return CUDA_ERROR_INVALID_VALUE;
    // Flags of the instantiation itself are not told (recorded).
    *flags = found->flags() & ~(kOfParams | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::GraphExecDestroy& call) noexcept {
  return ending_objects([&](Emulator& e) -> CUresult {
    Executable* found = e.graphs.find(call.hGraphExec);
    if (!found) return CUDA_ERROR_INVALID_VALUE;
    found->end(e.graph_memory);
    e.graphs.erase(call.hGraphExec);
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::GraphUpload& call) noexcept {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    CUstream stream = call.hStream;
    if (!Streams::is_default(stream) && !e.streams.find(stream)) return e.streams.no_stream(stream);
    Executable* const executable = e.graphs.find(call.hGraphExec);
    if (!executable) return CUDA_ERROR_INVALID_VALUE;
    executable->take_memory(e.graph_memory);
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::GraphLaunch& call) noexcept {
  return launch(call.hGraphExec, call.hStream);
}

}  // namespace cuvmm::emulator
