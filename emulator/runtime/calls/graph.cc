// SPDX-License-Identifier: Apache-2.0
// Graphs as far as programs take them from a capture to launches and updates. The numbers of node
// types and of update results are the driver's.
#include "emulator/runtime/calls/call.h"

namespace cuvmm::runtime {

CUVMM_RUNTIME_CALL(cudaGraphCreate, (graph, flags), CUgraph* graph, unsigned flags) {
  return ask(driver.cuGraphCreate, graph, flags);
}
CUVMM_RUNTIME_CALL(cudaGraphDestroy, (graph), CUgraph graph) {
  return ask(driver.cuGraphDestroy, graph);
}
CUVMM_RUNTIME_CALL(cudaGraphClone, (out, graph), CUgraph* out, CUgraph graph) {
  return ask(driver.cuGraphClone, out, graph);
}
CUVMM_RUNTIME_CALL(cudaGraphGetNodes, (graph, nodes, count), CUgraph graph, CUgraphNode* nodes,
                   size_t* count) {
  return ask(driver.cuGraphGetNodes, graph, nodes, count);
}
CUVMM_RUNTIME_CALL(cudaGraphGetRootNodes, (graph, nodes, count), CUgraph graph, CUgraphNode* nodes,
                   size_t* count) {
  return ask(driver.cuGraphGetRootNodes, graph, nodes, count);
}
CUVMM_RUNTIME_CALL(cudaGraphNodeGetType, (node, type), CUgraphNode node, CUgraphNodeType* type) {
  return ask(driver.cuGraphNodeGetType, node, type);
}

CUVMM_RUNTIME_CALL(cudaGraphInstantiate, (out, graph, flags), CUgraphExec* out, CUgraph graph,
                   unsigned long long flags) {
  return ask(driver.cuGraphInstantiateWithFlags, out, graph, flags);
}
CUVMM_RUNTIME_CALL(cudaGraphInstantiateWithFlags, (out, graph, flags), CUgraphExec* out,
                   CUgraph graph, unsigned long long flags) {
  return ask(driver.cuGraphInstantiateWithFlags, out, graph, flags);
}
CUVMM_RUNTIME_CALL(cudaGraphExecGetFlags, (executable, flags), CUgraphExec executable,
                   cuuint64_t* flags) {
  return ask(driver.cuGraphExecGetFlags, executable, flags);
}
CUVMM_RUNTIME_CALL(cudaGraphExecDestroy, (executable), CUgraphExec executable) {
  return ask(driver.cuGraphExecDestroy, executable);
}
CUVMM_RUNTIME_CALL(cudaGraphExecUpdate, (executable, graph, result), CUgraphExec executable,
                   CUgraph graph, CUgraphExecUpdateResultInfo* result) {
  return ask(driver.cuGraphExecUpdate, executable, graph, result);
}
CUVMM_RUNTIME_ON_STREAM(cudaGraphUpload, ptsz, (executable, stream), CUgraphExec executable,
                        CUstream stream) {
  return ask(driver.cuGraphUpload, executable, stream);
}
CUVMM_RUNTIME_ON_STREAM(cudaGraphLaunch, ptsz, (executable, stream), CUgraphExec executable,
                        CUstream stream) {
  return ask(driver.cuGraphLaunch, executable, stream);
}

CUVMM_RUNTIME_CALL(cudaDeviceGetGraphMemAttribute, (device, which, value), int device, int which,
                   void* value) {
  return ask(driver.cuDeviceGetGraphMemAttribute, device, static_cast<CUgraphMem_attribute>(which),
             value);
}
CUVMM_RUNTIME_CALL(cudaDeviceSetGraphMemAttribute, (device, which, value), int device, int which,
                   void* value) {
  return ask(driver.cuDeviceSetGraphMemAttribute, device, static_cast<CUgraphMem_attribute>(which),
             value);
}
CUVMM_RUNTIME_CALL(cudaDeviceGraphMemTrim, (device), int device) {
  return ask(driver.cuDeviceGraphMemTrim, device);
}

// The runtime's structure of an allocation is the driver's.
CUVMM_RUNTIME_CALL(cudaGraphAddMemAllocNode, (out, graph, after, count, asked), CUgraphNode* out,
                   CUgraph graph, const CUgraphNode* after, std::size_t count,
                   CUDA_MEM_ALLOC_NODE_PARAMS* asked) {
  return ask(driver.cuGraphAddMemAllocNode, out, graph, after, count, asked);
}
CUVMM_RUNTIME_CALL(cudaGraphMemAllocNodeGetParams, (node, out), CUgraphNode node,
                   CUDA_MEM_ALLOC_NODE_PARAMS* out) {
  return ask(driver.cuGraphMemAllocNodeGetParams, node, out);
}
CUVMM_RUNTIME_CALL(cudaGraphAddMemFreeNode, (out, graph, after, count, memory), CUgraphNode* out,
                   CUgraph graph, const CUgraphNode* after, std::size_t count, void* memory) {
  return ask(driver.cuGraphAddMemFreeNode, out, graph, after, count, address(memory));
}
CUVMM_RUNTIME_CALL(cudaGraphMemFreeNodeGetParams, (node, out), CUgraphNode node, void** out) {
  return ask(driver.cuGraphMemFreeNodeGetParams, node, reinterpret_cast<CUdeviceptr*>(out));
}

CUVMM_RUNTIME_CALL(cudaGraphAddEventRecordNode, (out, graph, after, count, event), CUgraphNode* out,
                   CUgraph graph, const CUgraphNode* after, std::size_t count, CUevent event) {
  return ask(driver.cuGraphAddEventRecordNode, out, graph, after, count, event);
}
CUVMM_RUNTIME_CALL(cudaGraphAddEventWaitNode, (out, graph, after, count, event), CUgraphNode* out,
                   CUgraph graph, const CUgraphNode* after, std::size_t count, CUevent event) {
  return ask(driver.cuGraphAddEventWaitNode, out, graph, after, count, event);
}

}  // namespace cuvmm::runtime
