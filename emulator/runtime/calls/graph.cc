// SPDX-License-Identifier: Apache-2.0
// Graphs, as far as programs use those that they have captured.
#include "emulator/runtime/calls/call.h"

namespace cuvmm::runtime {

CUVMM_RUNTIME_CALL(cudaGraphCreate, (graph, flags), CUgraph* graph, unsigned flags) {
  return ask(driver.cuGraphCreate, graph, flags);
}
CUVMM_RUNTIME_CALL(cudaGraphDestroy, (graph), CUgraph graph) {
  return ask(driver.cuGraphDestroy, graph);
}
CUVMM_RUNTIME_CALL(cudaGraphClone, (clone, graph), CUgraph* clone, CUgraph graph) {
  return ask(driver.cuGraphClone, clone, graph);
}
CUVMM_RUNTIME_CALL(cudaGraphGetNodes, (graph, nodes, count), CUgraph graph, CUgraphNode* nodes,
                   std::size_t* count) {
  return ask(driver.cuGraphGetNodes, graph, nodes, count);
}
CUVMM_RUNTIME_CALL(cudaGraphGetRootNodes, (graph, nodes, count), CUgraph graph, CUgraphNode* nodes,
                   std::size_t* count) {
  return ask(driver.cuGraphGetRootNodes, graph, nodes, count);
}
// The kinds of nodes have the driver's numbers.
CUVMM_RUNTIME_CALL(cudaGraphNodeGetType, (node, type), CUgraphNode node, CUgraphNodeType* type) {
  return ask(driver.cuGraphNodeGetType, node, type);
}
CUVMM_RUNTIME_CALL(cudaGraphInstantiate, (executable, graph, flags), CUgraphExec* executable,
                   CUgraph graph, unsigned long long flags) {
  return ask(driver.cuGraphInstantiateWithFlags, executable, graph, flags);
}
CUVMM_RUNTIME_CALL(cudaGraphInstantiateWithFlags, (executable, graph, flags),
                   CUgraphExec* executable, CUgraph graph, unsigned long long flags) {
  return ask(driver.cuGraphInstantiateWithFlags, executable, graph, flags);
}
CUVMM_RUNTIME_CALL(cudaGraphExecDestroy, (executable), CUgraphExec executable) {
  return ask(driver.cuGraphExecDestroy, executable);
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

}  // namespace cuvmm::runtime
