// SPDX-License-Identifier: Apache-2.0
// cuGraphExecUpdate, of a whole executable graph or of a child in it.
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/graph/update/graph_update.h"

namespace cuvmm::emulator {

namespace {

CUresult update(CUgraphExec handle, CUgraph graph, UpdateResult& out) noexcept {
  out = {CU_GRAPH_EXEC_UPDATE_ERROR};
  return locked([&](Emulator& e) -> CUresult {
    Executable* executable = e.graphs.find(handle);
    if (!executable || !e.graphs.find(graph)) return CUDA_ERROR_INVALID_VALUE;
    const bool broken = e.graphs.find(graph)->broken;
    if (broken || e.graphs.instantiated_with_memory(graph, handle)) {
      out = {};
      return broken ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
    }
    out = update(e, executable->steps(), graph, executable->flags());
    return out.good() ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  });
}

}  // namespace

CUresult run_base(const calls::GraphExecUpdate_v2& call) noexcept {
  if (!call.resultInfo) return locked([](Emulator&) { return CUDA_ERROR_INVALID_VALUE; });
  UpdateResult result;
  const CUresult answer = update(call.hGraphExec, call.hGraph, result);
  *call.resultInfo = {result.why, result.node, result.from};
  return answer;
}

// The first form names one node.
CUresult run_base(const calls::GraphExecUpdate& call) noexcept {
  if (!call.hErrorNode_out || !call.updateResult_out) {
    return locked([](Emulator&) { return CUDA_ERROR_INVALID_VALUE; });
  }
  UpdateResult result;
  const CUresult answer = update(call.hGraphExec, call.hGraph, result);
  *call.hErrorNode_out = result.node;
  *call.updateResult_out = result.why;
  return answer;
}

CUresult run_base(const calls::GraphExecChildGraphNodeSetParams& call) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    Executable* executable = e.graphs.find(call.hGraphExec);
    Step* step = executable ? executable->step_of(call.hNode) : nullptr;
    if (!step || step->node->type != CU_GRAPH_NODE_TYPE_GRAPH || !e.graphs.find(call.childGraph)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const UpdateResult result =
        update(e, step->bodies.front(), call.childGraph, executable->flags());
    return result.good() ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  });
}

}  // namespace cuvmm::emulator
