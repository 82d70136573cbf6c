// SPDX-License-Identifier: Apache-2.0
// The questions of the shim to a driver about work: functions that it never intercepts.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "api/posix/cancel_off.h"

namespace cuvmm::shim {

/// Null if the driver has no such function. The names do not come from `cuda.h`, because it renames
/// some of them from version to version.
struct Questions {
  // The questions of launches, in one cache line.
  CUresult (*context)(CUcontext*) = nullptr;
  CUresult (*event_record)(CUevent, CUstream) = nullptr;

  CUresult (*stream_context)(CUstream, CUcontext*) = nullptr;
  CUresult (*stream_flags)(CUstream, unsigned*) = nullptr;
  CUresult (*stream_query)(CUstream) = nullptr;
  CUresult (*is_capturing)(CUstream, CUstreamCaptureStatus*) = nullptr;
  CUresult (*exchange_mode)(CUstreamCaptureMode*) = nullptr;
  // Newer drivers have only the second one, which also returns the data of edges.
  CUresult (*capture_nodes)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                            const CUgraphNode**, std::size_t*) = nullptr;
  CUresult (*capture_edges)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*,
                            const CUgraphNode**, const void**, std::size_t*) = nullptr;

  CUresult (*context_flags)(unsigned*) = nullptr;
  CUresult (*pointer_attributes)(unsigned, CUpointer_attribute*, void**, CUdeviceptr) = nullptr;

  CUresult (*event_create)(CUevent*, unsigned) = nullptr;
  CUresult (*event_query)(CUevent) = nullptr;
  CUresult (*event_destroy)(CUevent) = nullptr;

  CUresult (*function_parameter)(CUfunction, std::size_t, std::size_t*, std::size_t*) = nullptr;
  CUresult (*function_name)(const char**, CUfunction) = nullptr;
  CUresult (*function_module)(CUmodule*, CUfunction) = nullptr;
  CUresult (*kernel_parameter)(CUkernel, std::size_t, std::size_t*, std::size_t*) = nullptr;
  CUresult (*kernel_name)(const char**, CUkernel) = nullptr;
  CUresult (*kernel_library)(CUlibrary*, CUkernel) = nullptr;

  CUresult (*graph_nodes)(CUgraph, CUgraphNode*, std::size_t*) = nullptr;
  CUresult (*node_type)(CUgraphNode, CUgraphNodeType*) = nullptr;
  CUresult (*kernel_node)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*) = nullptr;
  CUresult (*memcpy_node)(CUgraphNode, CUDA_MEMCPY3D*) = nullptr;
  CUresult (*memset_node)(CUgraphNode, CUDA_MEMSET_NODE_PARAMS*) = nullptr;
  CUresult (*batch_node)(CUgraphNode, CUDA_BATCH_MEM_OP_NODE_PARAMS*) = nullptr;
  CUresult (*child_graph)(CUgraphNode, CUgraph*) = nullptr;
  CUresult (*allocation_node)(CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS*) = nullptr;
  CUresult (*free_node)(CUgraphNode, CUdeviceptr*) = nullptr;
  CUresult (*graph_edges)(CUgraph, CUgraphNode*, CUgraphNode*, CUgraphEdgeData*,
                          std::size_t*) = nullptr;
  /// The function of drivers before CUDA 12.3.
  CUresult (*plain_graph_edges)(CUgraph, CUgraphNode*, CUgraphNode*, std::size_t*) = nullptr;

  CUresult (*graph_memory)(CUdevice, CUgraphMem_attribute, void*) = nullptr;

  /// Whether the driver has all functions without which cuvmm can follow no work.
  bool complete() const {
    return context && stream_context && stream_flags && stream_query && is_capturing &&
           exchange_mode;
  }
  /// Whether the driver has all functions without which the order of a graph is not known.
  bool tells_graphs() const {
    return graph_nodes && node_type && allocation_node && free_node &&
           (graph_edges || plain_graph_edges);
  }
};

/// `find(name)` returns the driver's exported function of this name as a void*, or null.
template <class Find>
Questions find_questions(Find&& find) {
  Questions q;
  const auto set = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(find(name));
  };
  set(q.context, "cuCtxGetCurrent");
  set(q.stream_context, "cuStreamGetCtx");
  set(q.stream_flags, "cuStreamGetFlags");
  set(q.stream_query, "cuStreamQuery");
  set(q.is_capturing, "cuStreamIsCapturing");
  set(q.exchange_mode, "cuThreadExchangeStreamCaptureMode");
  set(q.capture_nodes, "cuStreamGetCaptureInfo_v2");
  set(q.capture_edges, "cuStreamGetCaptureInfo_v3");
  set(q.context_flags, "cuCtxGetFlags");
  set(q.pointer_attributes, "cuPointerGetAttributes");
  set(q.event_create, "cuEventCreate");
  set(q.event_record, "cuEventRecord");
  set(q.event_query, "cuEventQuery");
  set(q.event_destroy, "cuEventDestroy_v2");
  set(q.function_parameter, "cuFuncGetParamInfo");
  set(q.function_name, "cuFuncGetName");
  set(q.function_module, "cuFuncGetModule");
  set(q.kernel_parameter, "cuKernelGetParamInfo");
  set(q.kernel_name, "cuKernelGetName");
  set(q.kernel_library, "cuKernelGetLibrary");
  set(q.graph_nodes, "cuGraphGetNodes");
  set(q.node_type, "cuGraphNodeGetType");
  set(q.kernel_node, "cuGraphKernelNodeGetParams_v2");
  set(q.memcpy_node, "cuGraphMemcpyNodeGetParams");
  set(q.memset_node, "cuGraphMemsetNodeGetParams");
  set(q.batch_node, "cuGraphBatchMemOpNodeGetParams");
  set(q.child_graph, "cuGraphChildGraphNodeGetGraph");
  set(q.allocation_node, "cuGraphMemAllocNodeGetParams");
  set(q.free_node, "cuGraphMemFreeNodeGetParams");
  set(q.graph_edges, "cuGraphGetEdges_v2");
  set(q.plain_graph_edges, "cuGraphGetEdges");
  set(q.graph_memory, "cuDeviceGetGraphMemAttribute");
  return q;
}

/// Lets the calling thread ask questions that another thread's capture would forbid, for a scope.
class RelaxedCapture {
 public:
  /// Does nothing unless `needed`.
  RelaxedCapture(const Questions& ask, bool needed) : ask_(ask), changed_(needed && exchange()) {}
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() {
    if (changed_) [[unlikely]]
      exchange();
  }

 private:
  [[gnu::cold, gnu::noinline]] bool exchange() {
    const CancelOff no_cancel;
    return ask_.exchange_mode(&mode_) == CUDA_SUCCESS;
  }

  const Questions& ask_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  const bool changed_;
};

}  // namespace cuvmm::shim
