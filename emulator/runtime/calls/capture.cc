// SPDX-License-Identifier: Apache-2.0
// Stream captures.
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

// CUDA 12 has three forms of cudaStreamGetCaptureInfo; the third is CUDA 13's only one.
#if CUVMM_RUNTIME_MAJOR == 12
CUVMM_RUNTIME_ON_STREAM(cudaStreamGetCaptureInfo, ptsz, (stream, status, id), CUstream stream,
                        CUstreamCaptureStatus* status, cuuint64_t* id) {
  return ask(driver.cuStreamGetCaptureInfo, stream, status, id, nullptr, nullptr, nullptr, nullptr);
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamGetCaptureInfo_v2, ptsz,
                        (stream, status, id, graph, dependencies, count), CUstream stream,
                        CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                        const CUgraphNode** dependencies, std::size_t* count) {
  return ask(driver.cuStreamGetCaptureInfo, stream, status, id, graph, dependencies, nullptr,
             count);
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamGetCaptureInfo_v3, ptsz,
                        (stream, status, id, graph, dependencies, edges, count), CUstream stream,
                        CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                        const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                        std::size_t* count) {
  return ask(driver.cuStreamGetCaptureInfo, stream, status, id, graph, dependencies, edges, count);
}
#else
CUVMM_RUNTIME_ON_STREAM(cudaStreamGetCaptureInfo, ptsz,
                        (stream, status, id, graph, dependencies, edges, count), CUstream stream,
                        CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                        const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                        std::size_t* count) {
  return ask(driver.cuStreamGetCaptureInfo, stream, status, id, graph, dependencies, edges, count);
}
#endif

}  // namespace cuvmm::runtime
