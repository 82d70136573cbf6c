// cuStreamBeginCapture to cuGraphLaunch.
#include "emulator/capture.h"
#include "emulator/entry.h"
#include "emulator/export.h"

namespace cuvmm::emulator {

namespace {

struct Graphs {
  std::map<CUgraph, GraphNodes> graphs;
  std::map<CUgraphExec, GraphNodes> executables;
  std::uintptr_t last = 0xe500000000;

  static Graphs& get() {
    static Graphs* const graphs = new Graphs;
    return *graphs;
  }
  template <class Handle>
  Handle add(std::map<Handle, GraphNodes>& to, GraphNodes nodes) {
    constexpr std::uintptr_t kStep = 0x100;
    const auto handle = reinterpret_cast<Handle>(last += kStep);
    to.emplace(handle, std::move(nodes));
    return handle;
  }
};

CUresult begin(CUstream stream, CUstreamCaptureMode mode) noexcept {
  return with_no_ended_context([&](Emulator& e) -> CUresult {
    Captures& captures = Captures::get();
    if (reinterpret_cast<std::uintptr_t>(stream) <= 1) {
      const CUresult refused = captures.refuse_legacy(e);
      return refused != CUDA_SUCCESS ? refused : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (!Streams::is_default(stream) && !e.streams.find(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (static_cast<unsigned>(mode) > CU_STREAM_CAPTURE_MODE_RELAXED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (captures.of(stream)) return CUDA_ERROR_ILLEGAL_STATE;
    captures.begin(e, stream, mode);
    return CUDA_SUCCESS;
  });
}

// Work that a launch has to do without the lock.
CUresult launch(CUgraphExec handle) noexcept {
  GraphNodes nodes;
  const CUresult found = with_context([&](Emulator&, Context&) -> CUresult {
    const auto& executables = Graphs::get().executables;
    const auto at = executables.find(handle);
    if (at == executables.end()) return CUDA_ERROR_INVALID_VALUE;
    nodes = at->second;
    return CUDA_SUCCESS;
  });
  if (found != CUDA_SUCCESS) return found;
  CUresult result = CUDA_SUCCESS;
  for (std::size_t i = 0; i < nodes.size() && result == CUDA_SUCCESS; ++i) {
    const GraphNode& node = *nodes[i];
    if (node.host) {
      node.host(node.data);
    } else {
      result = locked([&](Emulator& e) { return node.run(e); });
    }
  }
  // Another thread may have destroyed the graph, and nodes end under the lock.
  locked([&](Emulator&) { return nodes.clear(), CUDA_SUCCESS; });
  return result;
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuStreamBeginCapture_v2, CUstream stream, CUstreamCaptureMode mode) {
  return begin(stream, mode);
}
CUVMM_DRIVER_ALIAS(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2);

// The first ABI has no mode.
CUVMM_DRIVER_FUNCTION(cuStreamBeginCapture, CUstream stream) {
  return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
CUVMM_DRIVER_ALIAS(cuStreamBeginCapture_ptsz, cuStreamBeginCapture);

CUVMM_DRIVER_FUNCTION(cuStreamEndCapture, CUstream stream, CUgraph* graph) {
  return locked([&](Emulator&) -> CUresult {
    Captures& captures = Captures::get();
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    const Capture* capture = captures.of(stream);
    if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != Captures::key(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        capture->thread != std::this_thread::get_id()) {
      return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    const auto ended = captures.end(capture);
    *graph = nullptr;
    if (ended->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!ended->unjoined.empty()) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    *graph = Graphs::get().add(Graphs::get().graphs, std::move(ended->nodes));
    return CUDA_SUCCESS;
  });
}
CUVMM_DRIVER_ALIAS(cuStreamEndCapture_ptsz, cuStreamEndCapture);

CUVMM_DRIVER_FUNCTION(cuGraphDestroy, CUgraph graph) {
  return locked([&](Emulator&) -> CUresult {
    return Graphs::get().graphs.erase(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphExecDestroy, CUgraphExec executable) {
  return locked([&](Emulator&) -> CUresult {
    return Graphs::get().executables.erase(executable) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphGetNodes, CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return locked([&](Emulator&) -> CUresult {
    const auto found = Graphs::get().graphs.find(graph);
    if (found == Graphs::get().graphs.end() || !count) return CUDA_ERROR_INVALID_VALUE;
    const GraphNodes& all = found->second;
    for (std::size_t i = 0; nodes && i < *count; ++i) {
      nodes[i] = i < all.size() ? reinterpret_cast<CUgraphNode>(all[i].get()) : nullptr;
    }
    *count = nodes ? std::min(*count, all.size()) : all.size();
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphNodeGetType, CUgraphNode node, CUgraphNodeType* type) {
  return locked([&](Emulator&) -> CUresult {
    if (!type) return CUDA_ERROR_INVALID_VALUE;
    for (const auto& [graph, nodes] : Graphs::get().graphs) {
      for (const auto& each : nodes) {
        if (reinterpret_cast<CUgraphNode>(each.get()) != node) continue;
        *type = each->type;
        return CUDA_SUCCESS;
      }
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphInstantiateWithFlags, CUgraphExec* out, CUgraph graph,
                      unsigned long long) {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    const auto found = Graphs::get().graphs.find(graph);
    if (!out || found == Graphs::get().graphs.end()) return CUDA_ERROR_INVALID_VALUE;
    for (const auto& node : found->second) {
      const CUresult result = node->check ? node->check(e) : CUDA_SUCCESS;
      if (result != CUDA_SUCCESS) return result;
    }
    *out = Graphs::get().add(Graphs::get().executables, found->second);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuGraphLaunch, CUgraphExec executable, CUstream) {
  return launch(executable);
}
CUVMM_DRIVER_ALIAS(cuGraphLaunch_ptsz, cuGraphLaunch);

}  // namespace cuvmm::emulator
