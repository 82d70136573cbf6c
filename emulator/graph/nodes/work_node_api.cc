// SPDX-License-Identifier: Apache-2.0
// The parameters of nodes that record or await an event, and of nodes of stream memory operations.
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/graph/node_params.h"

namespace cuvmm::emulator {

namespace {

CUresult event_of(CUgraphNode handle, CUgraphNodeType type, CUevent* out) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const GraphNode* node = e.graphs.find(handle);
    const auto* event = node && node->type == type ? std::get_if<CUevent>(&node->params) : nullptr;
    if (!event || !out) return CUDA_ERROR_INVALID_VALUE;
    *out = *event;
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuGraphEventRecordNodeGetEvent, CUgraphNode node, CUevent* out) {
  return event_of(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, out);
}
CUVMM_DRIVER_FUNCTION(cuGraphEventWaitNodeGetEvent, CUgraphNode node, CUevent* out) {
  return event_of(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, out);
}
CUVMM_DRIVER_FUNCTION(cuGraphEventRecordNodeSetEvent, CUgraphNode node, CUevent event) {
  CUgraphNodeParams params = params_of(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
  return set_params(node, &params);
}
CUVMM_DRIVER_FUNCTION(cuGraphEventWaitNodeSetEvent, CUgraphNode node, CUevent event) {
  CUgraphNodeParams params = params_of(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
  return set_params(node, &params);
}
CUVMM_DRIVER_FUNCTION(cuGraphExecEventRecordNodeSetEvent, CUgraphExec executable, CUgraphNode node,
                      CUevent event) {
  CUgraphNodeParams params = params_of(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
  return set_params(executable, node, &params);
}
CUVMM_DRIVER_FUNCTION(cuGraphExecEventWaitNodeSetEvent, CUgraphExec executable, CUgraphNode node,
                      CUevent event) {
  CUgraphNodeParams params = params_of(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
  return set_params(executable, node, &params);
}

CUVMM_DRIVER_FUNCTION(cuGraphBatchMemOpNodeGetParams, CUgraphNode handle,
                      CUDA_BATCH_MEM_OP_NODE_PARAMS* out) {
  return locked([&](Emulator& e) -> CUresult {
    GraphNode* node = e.graphs.find(handle);
    auto* batch = node ? std::get_if<BatchParams>(&node->params) : nullptr;
    if (!batch || !out) return CUDA_ERROR_INVALID_VALUE;
    out->ctx = batch->context;
    out->count = static_cast<unsigned>(batch->operations.size());
    out->paramArray = batch->operations.data();
    out->flags = batch->flags;
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_FUNCTION(cuGraphBatchMemOpNodeSetParams, CUgraphNode node,
                      const CUDA_BATCH_MEM_OP_NODE_PARAMS* batch) {
  if (!batch) return no_params();
  CUgraphNodeParams params = params_of(*batch);
  return set_params(node, &params);
}

}  // namespace cuvmm::emulator
