// SPDX-License-Identifier: Apache-2.0
// Captures, and graphs as far as programs take them from a capture to launches and updates. Nodes
// have the same numbers for their types as the driver's, and updates the same for their results.
#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/version.h"

namespace cuvmm::runtime {

CUVMM_RUNTIME_ON_STREAM(cudaStreamBeginCapture, ptsz, (stream, mode), CUstream stream,
                        CUstreamCaptureMode mode) {
  return ask(driver.cuStreamBeginCapture, stream, mode);
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamEndCapture, ptsz, (stream, graph), CUstream stream,
                        CUgraph* graph) {
  return ask(driver.cuStreamEndCapture, stream, graph);
}

// The plain name means the newest form in CUDA 13, and the oldest in CUDA 12.
#if CUVMM_RUNTIME_MAJOR == 12
CUVMM_RUNTIME_ON_STREAM(cudaStreamGetCaptureInfo, ptsz, (stream, status, id), CUstream stream,
                        CUstreamCaptureStatus* status, cuuint64_t* id) {
  return ask(driver.cuStreamGetCaptureInfo, stream, status, id, nullptr, nullptr, nullptr, nullptr);
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamGetCaptureInfo_v2, ptsz,
                        (stream, status, id, graph, nodes, count), CUstream stream,
                        CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                        const CUgraphNode** nodes, size_t* count) {
  return ask(driver.cuStreamGetCaptureInfo, stream, status, id, graph, nodes, nullptr, count);
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamGetCaptureInfo_v3, ptsz,
                        (stream, status, id, graph, nodes, edges, count), CUstream stream,
                        CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                        const CUgraphNode** nodes, const CUgraphEdgeData** edges, size_t* count) {
  return ask(driver.cuStreamGetCaptureInfo, stream, status, id, graph, nodes, edges, count);
}
#else
CUVMM_RUNTIME_ON_STREAM(cudaStreamGetCaptureInfo, ptsz,
                        (stream, status, id, graph, nodes, edges, count), CUstream stream,
                        CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                        const CUgraphNode** nodes, const CUgraphEdgeData** edges, size_t* count) {
  return ask(driver.cuStreamGetCaptureInfo, stream, status, id, graph, nodes, edges, count);
}
#endif

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

}  // namespace cuvmm::runtime
