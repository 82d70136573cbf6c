// SPDX-License-Identifier: Apache-2.0
#include "emulator/graph/node_params.h"

#include <utility>

#include "emulator/graph/graph_nodes.h"
#include "emulator/graph/update/graph_update.h"

namespace cuvmm::emulator {

namespace {

// An executable graph's copies and fills change only from one run of bytes to another, between the
// same kinds of memory.
bool one_run(const CUDA_MEMCPY3D& copy) { return copy.Height <= 1 && copy.Depth <= 1; }

bool one_run(const CUgraphNodeParams& params) {
  if (params.type == CU_GRAPH_NODE_TYPE_MEMCPY) return one_run(params.memcpy.copyParams);
  return params.type != CU_GRAPH_NODE_TYPE_MEMSET || params.memset.height <= 1;
}

bool one_run(const GraphNode& node) {
  const auto* copy = std::get_if<CUDA_MEMCPY3D>(&node.params);
  const auto* fill = std::get_if<CUDA_MEMSET_NODE_PARAMS>(&node.params);
  return copy ? one_run(*copy) : !fill || fill->height <= 1;
}

bool one_kind(CUmemorytype a, CUmemorytype b) {
  if (a == CU_MEMORYTYPE_UNIFIED || b == CU_MEMORYTYPE_UNIFIED) return true;
  return (a == CU_MEMORYTYPE_HOST) == (b == CU_MEMORYTYPE_HOST);
}
bool keeps_kinds(const CUgraphNodeParams& params, const GraphNode& node) {
  const auto* from = std::get_if<CUDA_MEMCPY3D>(&node.params);
  if (!from || params.type != CU_GRAPH_NODE_TYPE_MEMCPY) return true;
  const CUDA_MEMCPY3D& to = params.memcpy.copyParams;
  return one_kind(from->srcMemoryType, to.srcMemoryType) &&
         one_kind(from->dstMemoryType, to.dstMemoryType);
}

// The operations of a batch stay as many as they are.
bool keeps_count(const CUgraphNodeParams& params, const GraphNode& node) {
  const auto* batch = std::get_if<BatchParams>(&node.params);
  return !batch || params.type != CU_GRAPH_NODE_TYPE_BATCH_MEM_OP ||
         params.memOp.count == batch->operations.size();
}

}  // namespace

CUgraphNodeParams params_of(const CUDA_BATCH_MEM_OP_NODE_PARAMS& batch) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  params.memOp.ctx = batch.ctx;
  params.memOp.count = batch.count;
  params.memOp.paramArray = batch.paramArray;
  params.memOp.flags = batch.flags;
  return params;
}

CUgraphNodeParams params_of(CUgraphNodeType type, CUevent event) {
  CUgraphNodeParams params{};
  params.type = type;
  if (type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) {
    params.eventWait.event = event;
  } else {
    params.eventRecord.event = event;
  }
  return params;
}

CUresult no_params() noexcept {
  return locked([](Emulator&) -> CUresult { return CUDA_ERROR_INVALID_VALUE; });
}

CUresult set_params(CUgraphNode handle, CUgraphNodeParams* params) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    CUgraph home = nullptr;
    GraphNode* node = e.graphs.find(handle, &home);
    return node && params ? change_node(e, home, *params, *node) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult set_params(CUgraphExec executable, CUgraphNode original,
                    CUgraphNodeParams* params) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    Executable* found = e.graphs.find(executable);
    if (!found || !params) return CUDA_ERROR_INVALID_VALUE;
    Step* step = found->step_of(original);
    CUgraph home = nullptr;
    if (!step || !e.graphs.find(original, &home)) return CUDA_ERROR_INVALID_VALUE;
    auto changed = std::make_shared<GraphNode>(*step->node);  // a launch may still use the old node
    if (!one_run(*params) || !one_run(*step->node)) return CUDA_ERROR_INVALID_VALUE;
    if (!keeps_count(*params, *step->node) || !keeps_kinds(*params, *step->node))
      return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = change_node(e, home, *params, *changed);
    if (result != CUDA_SUCCESS) return result;
    if (!same_context(*step->node, *changed)) return CUDA_ERROR_INVALID_VALUE;
    const CUresult checked = changed->check ? changed->check(e) : CUDA_SUCCESS;
    if (checked == CUDA_SUCCESS) step->node = std::move(changed);
    return checked;
  });
}

}  // namespace cuvmm::emulator
