// SPDX-License-Identifier: Apache-2.0
// cuStreamUpdateCaptureDependencies: a program says on which nodes the next captured work depends.
#include <utility>
#include <vector>

#include "emulator/core/export.h"
#include "emulator/core/locked.h"

namespace cuvmm::emulator {

namespace {

// The nodes of the handles; false where one is in another graph. The program may have added nodes
// to the graph that cuStreamGetCaptureInfo gave it.
bool find_nodes(const Emulator& e, const Capture& capture, const CUgraphNode* handles,
                std::size_t count, std::vector<GraphNode*>& out) {
  for (std::size_t i = 0; i < count; ++i) {
    CUgraph home = nullptr;
    GraphNode* node = capture.node(handles[i]);
    if (!node) {
      node = e.graphs.find(handles[i], &home);
      if (!node || home != capture.graph()) return false;
    }
    out.push_back(node);
  }
  return true;
}

CUresult update(CUstream stream, const CUgraphNode* handles, std::size_t count,
                unsigned flags) noexcept {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    if (!Streams::is_default(stream) && !e.streams.find(stream)) return CUDA_ERROR_INVALID_HANDLE;
    Capture* const capture = e.captures.of(stream);
    if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->invalid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    std::vector<GraphNode*> nodes;
    const bool known =
        flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES || flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES;
    if (!known || (count != 0 && !handles) || !find_nodes(e, *capture, handles, count, nodes))
      return CUDA_ERROR_INVALID_VALUE;
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
      capture->wait_only(Captures::key(stream), std::move(nodes));
    } else {
      capture->wait(Captures::key(stream), nodes);
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuStreamUpdateCaptureDependencies, CUstream stream, CUgraphNode* nodes,
                      size_t count, unsigned flags) {
  return update(stream, nodes, count, flags);
}
CUVMM_DRIVER_ALIAS(cuStreamUpdateCaptureDependencies_ptsz, cuStreamUpdateCaptureDependencies);

// Edges between captured nodes carry no data here.
CUVMM_DRIVER_FUNCTION(cuStreamUpdateCaptureDependencies_v2, CUstream stream, CUgraphNode* nodes,
                      const CUgraphEdgeData*, size_t count, unsigned flags) {
  return update(stream, nodes, count, flags);
}
CUVMM_DRIVER_ALIAS(cuStreamUpdateCaptureDependencies_v2_ptsz, cuStreamUpdateCaptureDependencies_v2);

}  // namespace cuvmm::emulator
