// SPDX-License-Identifier: Apache-2.0
// cuGraphAddNode and related calls, and queries of nodes' parameters.
#include <atomic>

#include "emulator/base/refusal.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/graph/graph_edges.h"
#include "emulator/graph/graph_nodes.h"
#include "emulator/graph/node_params.h"

namespace cuvmm::emulator {

namespace {

CUresult add(CUgraphNode* out, CUgraph graph, const CUgraphNode* on, size_t count,
             CUgraphNodeParams& params) noexcept {
  return add_node(out, graph, on, nullptr, count, &params);
}

CUgraphNodeParams of_type(CUgraphNodeType type) {
  CUgraphNodeParams params{};
  params.type = type;
  return params;
}

CUgraphNodeParams params_of(const CUDA_MEMCPY3D& copy, CUcontext context) {
  CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_MEMCPY);
  params.memcpy.copyCtx = context;
  params.memcpy.copyParams = copy;
  return params;
}

CUgraphNodeParams params_of(const CUDA_MEMSET_NODE_PARAMS& fill, CUcontext context) {
  CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_MEMSET);
  params.memset = {fill.dst,   fill.pitch,  fill.value, fill.elementSize,
                   fill.width, fill.height, context};
  return params;
}

// Converts kernel parameters of any version; the first version has neither a kernel handle nor a
// context.
template <class Kernel>
CUgraphNodeParams params_of_kernel(const Kernel& kernel) {
  CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_KERNEL);
  params.kernel = {};
  params.kernel.func = kernel.func;
  params.kernel.gridDimX = kernel.gridDimX;
  params.kernel.gridDimY = kernel.gridDimY;
  params.kernel.gridDimZ = kernel.gridDimZ;
  params.kernel.blockDimX = kernel.blockDimX;
  params.kernel.blockDimY = kernel.blockDimY;
  params.kernel.blockDimZ = kernel.blockDimZ;
  params.kernel.sharedMemBytes = kernel.sharedMemBytes;
  params.kernel.kernelParams = kernel.kernelParams;
  params.kernel.extra = kernel.extra;
  if constexpr (requires { kernel.kern; }) {
    params.kernel.kern = kernel.kern;
    params.kernel.ctx = kernel.ctx;
  }
  return params;
}

CUgraphNodeParams params_of(const CUDA_HOST_NODE_PARAMS& host) {
  CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_HOST);
  params.host.fn = host.fn;
  params.host.userData = host.userData;
  return params;
}

// A launch can leave out only nodes that do work.
bool may_be_disabled(const GraphNode& node) {
  return node.type == CU_GRAPH_NODE_TYPE_KERNEL || node.type == CU_GRAPH_NODE_TYPE_MEMCPY ||
         node.type == CU_GRAPH_NODE_TYPE_MEMSET;
}

}  // namespace

CUresult add_node(CUgraphNode* out, CUgraph handle, const CUgraphNode* on,
                  const CUgraphEdgeData* data, size_t count, CUgraphNodeParams* params) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    Graphs& graphs = e.graphs;
    const Graph* const graph = graphs.find(handle);
    if (!out || !params || !graph || graph->broken || (count && !on)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const Context* const current = e.current_context();
    const bool works = params->type == CU_GRAPH_NODE_TYPE_KERNEL ||
                       params->type == CU_GRAPH_NODE_TYPE_MEMCPY ||
                       params->type == CU_GRAPH_NODE_TYPE_MEMSET;
    if (works && current && current->fault != CUDA_SUCCESS) return current->fault;  // an H200
    auto node = std::make_shared<GraphNode>();
    node->type = params->type;
    for (std::size_t i = 0; i < count; ++i) {
      CUgraph home = nullptr;
      GraphNode* other = graphs.find(on[i], &home);
      if (!other || home != handle) return CUDA_ERROR_INVALID_VALUE;
      const CUresult result = add_dependency(*node, *other, data ? data[i] : CUgraphEdgeData{});
      if (result != CUDA_SUCCESS) return refuse_node(e, handle, *params, result);
    }
    const CUresult result = make_node(e, handle, *params, *node);
    if (result != CUDA_SUCCESS) return result;
    *out = node->handle();
    graphs.add(handle, std::move(node));
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphAddNode_v2, CUgraphNode* out, CUgraph graph, const CUgraphNode* on,
                      const CUgraphEdgeData* data, size_t count, CUgraphNodeParams* params) {
  return add_node(out, graph, on, data, count, params);
}
CUVMM_DRIVER_FUNCTION(cuGraphAddNode, CUgraphNode* out, CUgraph graph, const CUgraphNode* on,
                      size_t count, CUgraphNodeParams* params) {
  return add_node(out, graph, on, nullptr, count, params);
}

CUVMM_DRIVER_FUNCTION(cuGraphAddEmptyNode, CUgraphNode* out, CUgraph graph, const CUgraphNode* on,
                      size_t count) {
  CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_EMPTY);
  return add(out, graph, on, count, params);
}

CUVMM_DRIVER_FUNCTION(cuGraphAddMemcpyNode, CUgraphNode* out, CUgraph graph, const CUgraphNode* on,
                      size_t count, const CUDA_MEMCPY3D* copy, CUcontext context) {
  if (!copy) return no_params();
  CUgraphNodeParams params = params_of(*copy, context);
  return add(out, graph, on, count, params);
}

CUVMM_DRIVER_FUNCTION(cuGraphAddMemsetNode, CUgraphNode* out, CUgraph graph, const CUgraphNode* on,
                      size_t count, const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context) {
  if (!fill) return no_params();
  CUgraphNodeParams params = params_of(*fill, context);
  return add(out, graph, on, count, params);
}

CUVMM_DRIVER_FUNCTION(cuGraphAddKernelNode, CUgraphNode* out, CUgraph graph, const CUgraphNode* on,
                      size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* kernel) {
  if (!kernel) return no_params();
  CUgraphNodeParams params = params_of_kernel(*kernel);
  return add(out, graph, on, count, params);
}
CUVMM_DRIVER_FUNCTION(cuGraphAddKernelNode_v2, CUgraphNode* out, CUgraph graph,
                      const CUgraphNode* on, size_t count,
                      const CUDA_KERNEL_NODE_PARAMS_v2* kernel) {
  if (!kernel) return no_params();
  CUgraphNodeParams params = params_of_kernel(*kernel);
  return add(out, graph, on, count, params);
}

CUVMM_DRIVER_FUNCTION(cuGraphAddHostNode, CUgraphNode* out, CUgraph graph, const CUgraphNode* on,
                      size_t count, const CUDA_HOST_NODE_PARAMS* host) {
  if (!host) return no_params();
  CUgraphNodeParams params = params_of(*host);
  return add(out, graph, on, count, params);
}

CUVMM_DRIVER_FUNCTION(cuGraphAddEventRecordNode, CUgraphNode* out, CUgraph graph,
                      const CUgraphNode* on, size_t count, CUevent event) {
  CUgraphNodeParams params = params_of(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
  return add(out, graph, on, count, params);
}

CUVMM_DRIVER_FUNCTION(cuGraphAddEventWaitNode, CUgraphNode* out, CUgraph graph,
                      const CUgraphNode* on, size_t count, CUevent event) {
  CUgraphNodeParams params = params_of(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
  return add(out, graph, on, count, params);
}

CUVMM_DRIVER_FUNCTION(cuGraphAddBatchMemOpNode, CUgraphNode* out, CUgraph graph,
                      const CUgraphNode* on, size_t count,
                      const CUDA_BATCH_MEM_OP_NODE_PARAMS* batch) {
  if (!batch) return no_params();
  CUgraphNodeParams params = params_of(*batch);
  return add(out, graph, on, count, params);
}

CUVMM_DRIVER_FUNCTION(cuGraphAddChildGraphNode, CUgraphNode* out, CUgraph graph,
                      const CUgraphNode* on, size_t count, CUgraph child) {
  CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_GRAPH);
  params.graph.graph = child;
  return add(out, graph, on, count, params);
}

CUVMM_DRIVER_FUNCTION(cuGraphAddMemAllocNode, CUgraphNode* out, CUgraph graph,
                      const CUgraphNode* on, size_t count, CUDA_MEM_ALLOC_NODE_PARAMS* asked) {
  if (!asked) return no_params();
  CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  params.alloc = {asked->poolProps, asked->accessDescs, asked->accessDescCount, asked->bytesize, 0};
  const CUresult result = add(out, graph, on, count, params);
  if (result == CUDA_SUCCESS) asked->dptr = params.alloc.dptr;
  return result;
}

CUVMM_DRIVER_FUNCTION(cuGraphAddMemFreeNode, CUgraphNode* out, CUgraph graph, const CUgraphNode* on,
                      size_t count, CUdeviceptr address) {
  CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_MEM_FREE);
  params.free.dptr = address;
  return add(out, graph, on, count, params);
}

CUVMM_DRIVER_FUNCTION(cuGraphMemcpyNodeGetParams, CUgraphNode node, CUDA_MEMCPY3D* out) {
  return get_params(node, out);
}
CUVMM_DRIVER_FUNCTION(cuGraphMemsetNodeGetParams, CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* out) {
  return get_params(node, out);
}
CUVMM_DRIVER_FUNCTION(cuGraphHostNodeGetParams, CUgraphNode node, CUDA_HOST_NODE_PARAMS* out) {
  return get_params(node, out);
}
CUVMM_DRIVER_FUNCTION(cuGraphMemAllocNodeGetParams, CUgraphNode node,
                      CUDA_MEM_ALLOC_NODE_PARAMS* out) {
  return get_params(node, out);
}
CUVMM_DRIVER_FUNCTION(cuGraphMemFreeNodeGetParams, CUgraphNode node, CUdeviceptr* out) {
  CUDA_MEM_FREE_NODE_PARAMS params{};
  const CUresult result = out ? get_params(node, &params) : no_params();
  if (result == CUDA_SUCCESS) *out = params.dptr;
  return result;
}

CUVMM_DRIVER_FUNCTION(cuGraphMemcpyNodeSetParams, CUgraphNode node, const CUDA_MEMCPY3D* copy) {
  if (!copy) return no_params();
  CUgraphNodeParams params = params_of(*copy, nullptr);
  return set_params(node, &params);
}
CUVMM_DRIVER_FUNCTION(cuGraphMemsetNodeSetParams, CUgraphNode node,
                      const CUDA_MEMSET_NODE_PARAMS* fill) {
  if (!fill) return no_params();
  CUgraphNodeParams params = params_of(*fill, nullptr);
  return set_params(node, &params);
}
CUVMM_DRIVER_FUNCTION(cuGraphKernelNodeSetParams, CUgraphNode node,
                      const CUDA_KERNEL_NODE_PARAMS_v1* kernel) {
  if (!kernel) return no_params();
  CUgraphNodeParams params = params_of_kernel(*kernel);
  return set_params(node, &params);
}
CUVMM_DRIVER_FUNCTION(cuGraphKernelNodeSetParams_v2, CUgraphNode node,
                      const CUDA_KERNEL_NODE_PARAMS_v2* kernel) {
  if (!kernel) return no_params();
  CUgraphNodeParams params = params_of_kernel(*kernel);
  return set_params(node, &params);
}
CUVMM_DRIVER_FUNCTION(cuGraphHostNodeSetParams, CUgraphNode node,
                      const CUDA_HOST_NODE_PARAMS* host) {
  if (!host) return no_params();
  CUgraphNodeParams params = params_of(*host);
  return set_params(node, &params);
}
CUVMM_DRIVER_FUNCTION(cuGraphNodeSetParams, CUgraphNode node, CUgraphNodeParams* params) {
  return set_params(node, params);
}

CUresult run_base(const calls::GraphExecNodeSetParams& call) noexcept {
  return set_params(call.hGraphExec, call.hNode, call.nodeParams);
}
CUresult run_base(const calls::GraphExecMemcpyNodeSetParams& call) noexcept {
  if (!call.copyParams) return no_params();
  CUgraphNodeParams params = params_of(*call.copyParams, call.ctx);
  return set_params(call.hGraphExec, call.hNode, &params);
}
CUresult run_base(const calls::GraphExecMemsetNodeSetParams& call) noexcept {
  if (!call.memsetParams) return no_params();
  CUgraphNodeParams params = params_of(*call.memsetParams, call.ctx);
  return set_params(call.hGraphExec, call.hNode, &params);
}
CUresult run_base(const calls::GraphExecKernelNodeSetParams& call) noexcept {
  if (!call.nodeParams) return no_params();
  CUgraphNodeParams params = params_of_kernel(*call.nodeParams);
  return set_params(call.hGraphExec, call.hNode, &params);
}
CUresult run_base(const calls::GraphExecKernelNodeSetParams_v1& call) noexcept {
  if (!call.nodeParams) return no_params();
  CUgraphNodeParams params = params_of_kernel(*call.nodeParams);
  return set_params(call.hGraphExec, call.hNode, &params);
}
CUresult run_base(const calls::GraphNodeSetEnabled& call) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    Executable* found = e.graphs.find(call.hGraphExec);
    Step* step = found ? found->step_of(call.hNode) : nullptr;
    if (!step || !may_be_disabled(*step->node)) return CUDA_ERROR_INVALID_VALUE;
    step->enabled = call.isEnabled != 0;
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_FUNCTION(cuGraphNodeGetEnabled, CUgraphExec executable, CUgraphNode node,
                      unsigned int* out) {
  return locked([&](Emulator& e) -> CUresult {
    Executable* found = e.graphs.find(executable);
    const Step* step = found ? found->step_of(node) : nullptr;
    if (!step || !out || !may_be_disabled(*step->node)) return CUDA_ERROR_INVALID_VALUE;
    *out = step->enabled ? 1 : 0;
    return CUDA_SUCCESS;
  });
}
CUresult run_base(const calls::GraphExecBatchMemOpNodeSetParams& call) noexcept {
  if (!call.nodeParams) return no_params();
  CUgraphNodeParams params = params_of(*call.nodeParams);
  return set_params(call.hGraphExec, call.hNode, &params);
}
CUVMM_DRIVER_FUNCTION(cuGraphExecHostNodeSetParams, CUgraphExec executable, CUgraphNode node,
                      const CUDA_HOST_NODE_PARAMS* host) {
  if (!host) return no_params();
  CUgraphNodeParams params = params_of(*host);
  return set_params(executable, node, &params);
}

}  // namespace cuvmm::emulator
