// SPDX-License-Identifier: Apache-2.0
// A capture's beginning, and its end in a graph.
#include <atomic>

#include "emulator/base/refusal.h"
#include "emulator/entry/base.h"
#include "emulator/entry/export.h"
#include "emulator/entry/locked.h"

namespace cuvmm::emulator {

namespace {

CUresult begin(CUstream stream, CUstreamCaptureMode mode) noexcept {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    Captures& captures = e.captures;
    if (reinterpret_cast<std::uintptr_t>(stream) <= 1) {
      const CUresult refused = captures.refuse_legacy();
      return refused != CUDA_SUCCESS ? refused : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (!Streams::is_default(stream) && !e.streams.find(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (static_cast<unsigned>(mode) > CU_STREAM_CAPTURE_MODE_RELAXED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (captures.of(stream)) return CUDA_ERROR_ILLEGAL_STATE;
    captures.begin(stream, mode);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult run_base(const calls::StreamBeginCapture& call) noexcept {
  return begin(call.hStream, call.mode);
}

CUresult run_base(const calls::StreamBeginCaptureToGraph&) noexcept {
  static std::atomic<bool> said{false};
  return refuse_once(said, "cuStreamBeginCaptureToGraph");
}

// The first ABI has no mode.
CUVMM_DRIVER_FUNCTION(cuStreamBeginCapture, CUstream stream) {
  return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
CUVMM_DRIVER_ALIAS(cuStreamBeginCapture_ptsz, cuStreamBeginCapture);

CUresult run_base(const calls::StreamEndCapture& call) noexcept {
  CUstream stream = call.hStream;
  CUgraph* const graph = call.phGraph;
  return locked([&](Emulator& e) -> CUresult {
    Captures& captures = e.captures;
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    const Capture* capture = captures.of(stream);
    if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin() != Captures::key(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode() != CU_STREAM_CAPTURE_MODE_RELAXED && !capture->by_this_thread()) {
      return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    const auto ended = captures.end(capture);
    *graph = nullptr;
    if (ended->invalid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!ended->joined()) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    *graph = e.graphs.add(Graph{.nodes = ended->take_nodes()});
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
