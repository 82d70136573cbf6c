// SPDX-License-Identifier: Apache-2.0
// Nodes that a program adds to a graph, and new parameters for them.
#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/calls/copies.h"
#include "emulator/runtime/calls/volume_copy.h"
#include "emulator/runtime/registered.h"
#include "emulator/runtime/version.h"

namespace cuvmm::runtime {

namespace {

/// cudaKernelNodeParams.
struct KernelNode {
  const void* function;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
};

Error convert(const Driver& driver, const KernelNode* node, CUDA_KERNEL_NODE_PARAMS& out) {
  if (!node) return cudaErrorInvalidValue;
  if (!node->function) return cudaErrorInvalidDeviceFunction;
  CUkernel kernel = nullptr;
  const Error found = find_kernel(driver, node->function, kernel);
  if (found != cudaSuccess) return found;
  if (!kernel) kernel = static_cast<CUkernel>(const_cast<void*>(node->function));
  CUfunction function = nullptr;
  const Error has = ask(driver.cuKernelGetFunction, &function, kernel);
  if (has != cudaSuccess) return has;
  out = {};
  out.func = function;
  out.gridDimX = node->grid[0];
  out.gridDimY = node->grid[1];
  out.gridDimZ = node->grid[2];
  out.blockDimX = node->block[0];
  out.blockDimY = node->block[1];
  out.blockDimZ = node->block[2];
  out.sharedMemBytes = node->shared_bytes;
  out.kernelParams = node->parameters;
  out.extra = node->extra;
  return cudaSuccess;
}

CUcontext current(const Driver& driver) {
  CUcontext context = nullptr;
  ask(driver.cuCtxGetCurrent, &context);
  return context;
}

Error describe_line(void* target, const void* source, std::size_t size, int kind,
                    CUDA_MEMCPY3D& out) {
  if (!known(kind)) return cudaErrorInvalidMemcpyDirection;
  out = {};
  out.srcMemoryType = source_type(kind);
  out.srcHost = source;
  out.srcDevice = address(source);
  out.srcPitch = size;
  out.srcHeight = 1;
  out.dstMemoryType = target_type(kind);
  out.dstHost = target;
  out.dstDevice = address(target);
  out.dstPitch = size;
  out.dstHeight = 1;
  out.WidthInBytes = size;
  out.Height = 1;
  out.Depth = 1;
  return cudaSuccess;
}

}  // namespace

CUVMM_RUNTIME_CALL(cudaGraphAddKernelNode, (out, graph, after, count, node), CUgraphNode* out,
                   CUgraph graph, const CUgraphNode* after, std::size_t count,
                   const KernelNode* node) {
  CUDA_KERNEL_NODE_PARAMS made;
  const Error error = convert(driver, node, made);
  if (error != cudaSuccess) return error;
  return ask(driver.cuGraphAddKernelNode, out, graph, after, count, &made);
}
CUVMM_RUNTIME_CALL(cudaGraphKernelNodeSetParams, (which, node), CUgraphNode which,
                   const KernelNode* node) {
  CUDA_KERNEL_NODE_PARAMS made;
  const Error error = convert(driver, node, made);
  return error == cudaSuccess ? ask(driver.cuGraphKernelNodeSetParams, which, &made) : error;
}
CUVMM_RUNTIME_CALL(cudaGraphExecKernelNodeSetParams, (executable, which, node),
                   CUgraphExec executable, CUgraphNode which, const KernelNode* node) {
  CUDA_KERNEL_NODE_PARAMS made;
  const Error error = convert(driver, node, made);
  if (error != cudaSuccess) return error;
  return ask(driver.cuGraphExecKernelNodeSetParams, executable, which, &made);
}

// The structures of fills, host functions and empty nodes are the driver's.
CUVMM_RUNTIME_CALL(cudaGraphAddMemsetNode, (out, graph, after, count, node), CUgraphNode* out,
                   CUgraph graph, const CUgraphNode* after, std::size_t count,
                   const CUDA_MEMSET_NODE_PARAMS* node) {
  return ask(driver.cuGraphAddMemsetNode, out, graph, after, count, node, current(driver));
}
CUVMM_RUNTIME_CALL(cudaGraphExecMemsetNodeSetParams, (executable, which, node),
                   CUgraphExec executable, CUgraphNode which, const CUDA_MEMSET_NODE_PARAMS* node) {
  return ask(driver.cuGraphExecMemsetNodeSetParams, executable, which, node, current(driver));
}
CUVMM_RUNTIME_CALL(cudaGraphAddHostNode, (out, graph, after, count, node), CUgraphNode* out,
                   CUgraph graph, const CUgraphNode* after, std::size_t count,
                   const CUDA_HOST_NODE_PARAMS* node) {
  return ask(driver.cuGraphAddHostNode, out, graph, after, count, node);
}
CUVMM_RUNTIME_CALL(cudaGraphAddEmptyNode, (out, graph, after, count), CUgraphNode* out,
                   CUgraph graph, const CUgraphNode* after, std::size_t count) {
  return ask(driver.cuGraphAddEmptyNode, out, graph, after, count);
}
CUVMM_RUNTIME_CALL(cudaGraphAddChildGraphNode, (out, graph, after, count, child), CUgraphNode* out,
                   CUgraph graph, const CUgraphNode* after, std::size_t count, CUgraph child) {
  return ask(driver.cuGraphAddChildGraphNode, out, graph, after, count, child);
}
CUVMM_RUNTIME_CALL(cudaGraphNodeGetEnabled, (executable, node, enabled), CUgraphExec executable,
                   CUgraphNode node, unsigned* enabled) {
  return ask(driver.cuGraphNodeGetEnabled, executable, node, enabled);
}
CUVMM_RUNTIME_CALL(cudaGraphNodeSetEnabled, (executable, node, enabled), CUgraphExec executable,
                   CUgraphNode node, unsigned enabled) {
  return ask(driver.cuGraphNodeSetEnabled, executable, node, enabled);
}
CUVMM_RUNTIME_CALL(cudaGraphDestroyNode, (node), CUgraphNode node) {
  return ask(driver.cuGraphDestroyNode, node);
}

CUVMM_RUNTIME_CALL(cudaGraphAddMemcpyNode, (out, graph, after, count, copy), CUgraphNode* out,
                   CUgraph graph, const CUgraphNode* after, std::size_t count,
                   const VolumeCopy* copy) {
  CUDA_MEMCPY3D made;
  const Error error = describe(driver, copy, made);
  if (error != cudaSuccess) return error;
  return ask(driver.cuGraphAddMemcpyNode, out, graph, after, count, &made, current(driver));
}
CUVMM_RUNTIME_CALL(cudaGraphExecMemcpyNodeSetParams, (executable, which, copy),
                   CUgraphExec executable, CUgraphNode which, const VolumeCopy* copy) {
  CUDA_MEMCPY3D made;
  const Error error = describe(driver, copy, made);
  if (error != cudaSuccess) return error;
  return ask(driver.cuGraphExecMemcpyNodeSetParams, executable, which, &made, current(driver));
}
CUVMM_RUNTIME_CALL(cudaGraphAddMemcpyNode1D, (out, graph, after, count, target, source, size, kind),
                   CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count,
                   void* target, const void* source, std::size_t size, int kind) {
  CUDA_MEMCPY3D made;
  const Error error = describe_line(target, source, size, kind, made);
  if (error != cudaSuccess) return error;
  return ask(driver.cuGraphAddMemcpyNode, out, graph, after, count, &made, current(driver));
}
CUVMM_RUNTIME_CALL(cudaGraphExecMemcpyNodeSetParams1D,
                   (executable, which, target, source, size, kind), CUgraphExec executable,
                   CUgraphNode which, void* target, const void* source, std::size_t size,
                   int kind) {
  CUDA_MEMCPY3D made;
  const Error error = describe_line(target, source, size, kind, made);
  if (error != cudaSuccess) return error;
  return ask(driver.cuGraphExecMemcpyNodeSetParams, executable, which, &made, current(driver));
}

namespace {

// Edges of the plain kind alone, as the older functions make them.
bool plain(const CUgraphEdgeData* edges, std::size_t count) {
  for (std::size_t i = 0; edges && i < count; ++i) {
    if (edges[i].from_port != 0 || edges[i].to_port != 0 || edges[i].type != 0) return false;
  }
  return true;
}

}  // namespace

// CUDA 13 gave the names to the functions with data for each edge.
#if CUVMM_RUNTIME_MAJOR == 12
CUVMM_RUNTIME_CALL(cudaGraphAddDependencies, (graph, from, to, count), CUgraph graph,
                   const CUgraphNode* from, const CUgraphNode* to, std::size_t count) {
  return ask(driver.cuGraphAddDependencies, graph, from, to, count);
}
CUVMM_RUNTIME_CALL(cudaGraphAddDependencies_v2, (graph, from, to, edges, count), CUgraph graph,
                   const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edges,
                   std::size_t count) {
  if (!plain(edges, count)) return cudaErrorNotSupported;
  return ask(driver.cuGraphAddDependencies, graph, from, to, count);
}
#else
CUVMM_RUNTIME_CALL(cudaGraphAddDependencies, (graph, from, to, edges, count), CUgraph graph,
                   const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edges,
                   std::size_t count) {
  if (!plain(edges, count)) return cudaErrorNotSupported;
  return ask(driver.cuGraphAddDependencies, graph, from, to, count);
}
#endif

}  // namespace cuvmm::runtime
