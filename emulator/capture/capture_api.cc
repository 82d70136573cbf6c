// SPDX-License-Identifier: Apache-2.0
// How a capture begins, and how it ends in a graph.
#include <utility>
#include <vector>

#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"

namespace cuvmm::emulator {

namespace {

// `into`: the graph to which the capture adds; null: it makes a graph.
CUresult begin(CUstream stream, CUstreamCaptureMode mode,
               const calls::StreamBeginCaptureToGraph* into = nullptr) noexcept {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    Captures& captures = e.captures;
    if (static_cast<unsigned>(mode) > CU_STREAM_CAPTURE_MODE_RELAXED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (reinterpret_cast<std::uintptr_t>(stream) <= 1) {
      const CUresult refused = captures.refuse_legacy();
      return refused != CUDA_SUCCESS ? refused : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (!Streams::is_default(stream) && !e.streams.find(stream)) return e.streams.no_stream(stream);
    if (captures.of(stream)) return CUDA_ERROR_ILLEGAL_STATE;
    std::vector<GraphNode*> behind;
    if (into) {
      const Graph* const graph = e.graphs.find(into->hGraph);
      if (!graph || graph->broken || (into->numDependencies && !into->dependencies))
        return CUDA_ERROR_INVALID_VALUE;
      for (std::size_t i = 0; i < into->numDependencies; ++i) {
        CUgraph home = nullptr;
        GraphNode* const node = e.graphs.find(into->dependencies[i], &home);
        if (!node || home != into->hGraph) return CUDA_ERROR_INVALID_VALUE;
        behind.push_back(node);
      }
    }
    Capture& capture = captures.begin(stream, mode);
    if (into) capture.add_to(into->hGraph, std::move(behind));
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult run_base(const calls::StreamBeginCapture& call) noexcept {
  return begin(call.hStream, call.mode);
}

CUresult run_base(const calls::StreamBeginCaptureToGraph& call) noexcept {
  return begin(call.hStream, call.mode, &call);
}

// The first ABI has no parameter for the mode.
CUVMM_DRIVER_FUNCTION(cuStreamBeginCapture, CUstream stream) {
  return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
CUVMM_DRIVER_ALIAS(cuStreamBeginCapture_ptsz, cuStreamBeginCapture);

CUresult run_base(const calls::StreamEndCapture& call) noexcept {
  CUstream stream = call.hStream;
  CUgraph none = nullptr;
  CUgraph* const graph = call.phGraph ? call.phGraph : &none;
  return locked([&](Emulator& e) -> CUresult {
    Captures& captures = e.captures;
    Capture* const capture = captures.of(stream);
    // A capture that is invalid ends all the same (an H200).
    if (!call.phGraph && !(capture && capture->invalid())) return CUDA_ERROR_INVALID_VALUE;
    if (!capture) {
      const bool lives = Streams::is_default(stream) || e.streams.find(stream);
      return lives ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_INVALID_HANDLE;
    }
    if (capture->origin() != Captures::key(stream)) {
      capture->invalidate();
      *graph = nullptr;  // an H100
      return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->mode() != CU_STREAM_CAPTURE_MODE_RELAXED && !capture->by_this_thread()) {
      return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    const auto ended = captures.end(capture);
    *graph = nullptr;
    CUgraph result = ended->graph();
    const bool usable = !ended->invalid() && ended->joined();
    const bool own = result && !ended->adds_to_graph();
    if (result && !own && !usable && e.graphs.find(result)) e.graphs.mark_broken(result);
    if (own && !usable && e.graphs.find(result)) e.graphs.erase(result);
    if (ended->invalid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!ended->joined()) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    // The program may have destroyed the graph that cuStreamGetCaptureInfo gave it, or added nodes
    // of its own.
    if (!result || !e.graphs.find(result)) result = e.graphs.add(Graph{});
    for (auto& node : ended->take_nodes()) e.graphs.add(result, std::move(node));
    *graph = result;
    return CUDA_SUCCESS;
  });
}

namespace {

struct CaptureInfo {
  CUstreamCaptureStatus* status = nullptr;
  cuuint64_t* id = nullptr;
  CUgraph* graph = nullptr;
  const CUgraphNode** dependencies = nullptr;
  const CUgraphEdgeData** edges = nullptr;
  std::size_t* count = nullptr;
};

// Pointers that the caller did not give are null. Outside an active capture only the status is
// written.
CUresult tell(CUstream stream, const CaptureInfo& out) noexcept {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    if (!out.status) return CUDA_ERROR_INVALID_VALUE;
    if (!Streams::is_default(stream) && !e.streams.find(stream)) return e.streams.no_stream(stream);
    const bool legacy = reinterpret_cast<std::uintptr_t>(stream) <= 1;
    const CUresult refused = legacy ? e.captures.refuse_legacy(false) : CUDA_SUCCESS;
    if (refused != CUDA_SUCCESS) return refused;
    Capture* capture = e.captures.of(stream);
    *out.status = !capture             ? CU_STREAM_CAPTURE_STATUS_NONE
                  : capture->invalid() ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                       : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (!capture || capture->invalid()) return CUDA_SUCCESS;
    if (out.id) *out.id = capture->id();
    if (out.graph) {
      if (!capture->graph()) capture->set_graph(e.graphs.add(Graph{}));
      *out.graph = capture->graph();
    }
    const auto& dependencies = capture->dependencies(Captures::key(stream));
    if (out.dependencies) *out.dependencies = dependencies.data();
    if (out.edges) *out.edges = capture->edges().data();
    if (out.count) *out.count = dependencies.size();
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuStreamGetCaptureInfo, CUstream stream, CUstreamCaptureStatus* status,
                      cuuint64_t* id) {
  return tell(stream, {status, id});
}
CUVMM_DRIVER_ALIAS(cuStreamGetCaptureInfo_ptsz, cuStreamGetCaptureInfo);

CUVMM_DRIVER_FUNCTION(cuStreamGetCaptureInfo_v2, CUstream stream, CUstreamCaptureStatus* status,
                      cuuint64_t* id, CUgraph* graph, const CUgraphNode** dependencies,
                      size_t* count) {
  return tell(stream, {status, id, graph, dependencies, nullptr, count});
}
CUVMM_DRIVER_ALIAS(cuStreamGetCaptureInfo_v2_ptsz, cuStreamGetCaptureInfo_v2);

CUVMM_DRIVER_FUNCTION(cuStreamGetCaptureInfo_v3, CUstream stream, CUstreamCaptureStatus* status,
                      cuuint64_t* id, CUgraph* graph, const CUgraphNode** dependencies,
                      const CUgraphEdgeData** edges, size_t* count) {
  return tell(stream, {status, id, graph, dependencies, edges, count});
}
CUVMM_DRIVER_ALIAS(cuStreamGetCaptureInfo_v3_ptsz, cuStreamGetCaptureInfo_v3);

}  // namespace cuvmm::emulator
