// SPDX-License-Identifier: Apache-2.0
// Names an object (the first argument) in a call, after its end, or before it (with the second
// argument "alive"): handles that are part of another object, memory that no call frees by its
// address, memory of the host. Prints the call's answer.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "driver.h"
#include "ended_case.h"

bool g_alive;

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;
constexpr const char* kPtx =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .b8 counter[4096];\n"
    ".visible .entry nothing() { ret; }\n";
constexpr CUDA_ARRAY_DESCRIPTOR kShape{64, 16, CU_AD_FORMAT_UNSIGNED_INT8, 1};

char g_buffer[4096];

// Replaces the pages at `memory` by fresh ones with this access.
void must_map(void* memory, int access) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (::mmap(memory, kBytes, access, flags, -1, 0) == memory) return;
  std::perror("mmap");
  std::_Exit(70);
}
// Ends the module, unless the test wants it alive.
void end(CUresult (*call)(CUmodule), CUmodule module) {
  if (!g_alive) must(call(module));
}

CUfunction function() {
  CUmodule module = nullptr;
  CUfunction found = nullptr;
  must(cuModuleLoadData(&module, kPtx));
  must(cuModuleGetFunction(&found, module, "nothing"));
  end(cuModuleUnload, module);
  return found;
}
CUresult launch_function() {
  return cuLaunchKernel(function(), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
}
CUresult ask_function() {
  int registers = 0;
  return cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function());
}
// The driver returns the handle of the old function for a function of another module.
CUresult new_function() {
  function();
  const bool alive = std::exchange(g_alive, true);
  const CUresult result =
      cuLaunchKernel(function(), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  g_alive = alive;
  return result;
}

CUlibrary library() {
  CUlibrary loaded = nullptr;
  must(cuLibraryLoadData(&loaded, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  return loaded;
}
CUresult launch_kernel() {
  CUlibrary loaded = library();
  CUkernel kernel = nullptr;
  CUfunction of_kernel = nullptr;
  must(cuLibraryGetKernel(&kernel, loaded, "nothing"));
  must(cuKernelGetFunction(&of_kernel, kernel));
  if (!g_alive) must(cuLibraryUnload(loaded));
  return cuLaunchKernel(of_kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
}
CUresult kernel_of_context() {
  CUcontext context = own_context();
  CUmodule module = nullptr;
  CUfunction found = nullptr;
  must(cuModuleLoadData(&module, kPtx));
  must(cuModuleGetFunction(&found, module, "nothing"));
  if (!g_alive) must(cuCtxDestroy(context));
  must(cuCtxSetCurrent(primary()));
  const char* name = nullptr;
  return cuFuncGetName(&name, found);
}
std::pair<CUmodule, CUdeviceptr> global() {
  CUmodule module = nullptr;
  CUdeviceptr counter = 0;
  std::size_t size = 0;
  must(cuModuleLoadData(&module, kPtx));
  must(cuModuleGetGlobal(&counter, &size, module, "counter"));
  return {module, counter};
}
CUresult fill_global() {
  const auto [module, counter] = global();
  end(cuModuleUnload, module);
  return cuMemsetD8(counter + 64, 1, 64);
}
CUresult free_global() { return cuMemFree(global().second); }

// Memory of an allocation node, which exists from a launch on.
CUresult copy_to_node_memory() {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUdeviceptr memory = 0;
  must(cuStreamCreate(&stream, 0));
  must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  must(cuMemAllocAsync(&memory, 4096, stream));
  must(cuStreamEndCapture(stream, &graph));
  must(cuGraphInstantiate(&executable, graph, 0));
  if (g_alive) must(cuGraphLaunch(executable, stream));
  return cuMemcpyHtoDAsync(memory, g_buffer, sizeof g_buffer, stream);
}

// Unmaps the pages like munmap(), but keeps the address range, so that no other memory can get it.
void take_away(void* memory) { must_map(memory, PROT_NONE); }
CUresult copy_from_host() {
  void* host = nullptr;
  CUdeviceptr memory = 0;
  must(cuMemAlloc(&memory, kBytes));
  must(cuMemAllocHost(&host, kBytes));
  if (!g_alive) {
    must(cuMemFreeHost(host));
    take_away(host);
  }
  return cuMemcpyHtoD(memory, host, kBytes);
}
CUresult copy_rows_to_unmapped() {
  CUdeviceptr memory = 0;
  must(cuMemAlloc(&memory, kBytes));
  void* const host =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(cuMemHostRegister(host, kBytes, 0));
  if (!g_alive) take_away(host);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = memory;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = host;
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = 64;
  copy.Height = 4;
  return cuMemcpy2D(&copy);
}
// The program's own memory has the address now: cuvmm cannot tell that the old memory ended.
CUresult copy_from_new_host() {
  void* host = nullptr;
  CUdeviceptr memory = 0;
  must(cuMemAlloc(&memory, kBytes));
  must(cuMemAllocHost(&host, kBytes));
  must(cuMemFreeHost(host));
  must_map(host, PROT_READ | PROT_WRITE);
  return cuMemcpyHtoD(memory, host, kBytes);
}

// Nothing takes the pages' place here: the next memory that the emulator maps must not lie there.
void* freed_host_memory() {
  void* host = nullptr;
  must(cuMemAllocHost(&host, kBytes));
  if (!g_alive) must(cuMemFreeHost(host));
  return host;
}
void* unregistered_memory(bool unmaps) {
  void* const host =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  must(cuMemHostRegister(host, kBytes, 0));
  must(cuMemHostUnregister(host));
  if (unmaps) ::munmap(host, kBytes);
  return host;
}
CUdeviceptr filled_memory() {
  CUdeviceptr memory = 0;
  must(cuMemAlloc(&memory, kBytes));
  must(cuMemsetD8(memory, 7, kBytes));
  return memory;
}
CUresult waited_for(CUresult result) {
  return result == CUDA_SUCCESS ? cuCtxSynchronize() : result;
}
CUresult copy_to_freed_host() {
  const CUdeviceptr memory = filled_memory();
  return waited_for(cuMemcpyDtoHAsync(freed_host_memory(), memory, kBytes, nullptr));
}
CUresult copy_from_freed_host() {
  const CUdeviceptr memory = filled_memory();
  return waited_for(cuMemcpyHtoDAsync(memory, freed_host_memory(), kBytes, nullptr));
}
CUresult copy_any_from_freed_host() {
  const CUdeviceptr memory = filled_memory();
  const auto host = reinterpret_cast<CUdeviceptr>(freed_host_memory());
  return waited_for(cuMemcpyAsync(memory, host, kBytes, nullptr));
}
// Page-locked memory that was allocated in a context which ends.
void* host_memory_of_context() {
  CUcontext context = own_context();
  void* host = nullptr;
  must(cuMemAllocHost(&host, kBytes));
  if (!g_alive) must(cuCtxDestroy(context));
  must(cuCtxSetCurrent(primary()));
  return host;
}
CUresult copy_from_host_of_context() {
  const CUdeviceptr memory = filled_memory();
  return waited_for(cuMemcpyHtoDAsync(memory, host_memory_of_context(), kBytes, nullptr));
}
CUresult ask_host_of_context() {
  CUdeviceptr address = 0;
  primary();
  return cuMemHostGetDevicePointer(&address, host_memory_of_context(), 0);
}
CUresult touch_host_of_context() {
  static_cast<volatile char*>(host_memory_of_context())[0] = 1;
  return CUDA_SUCCESS;
}
CUresult copy_from_unregistered() {
  const CUdeviceptr memory = filled_memory();
  return waited_for(cuMemcpyHtoDAsync(memory, unregistered_memory(!g_alive), kBytes, nullptr));
}
CUresult copy_from_own_after_unregister() {
  const CUdeviceptr memory = filled_memory();
  return waited_for(cuMemcpyHtoDAsync(memory, unregistered_memory(false), kBytes, nullptr));
}

CUresult ask_array() {
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR shape = kShape;
  must(cuArrayCreate(&array, &shape));
  if (!g_alive) must(cuArrayDestroy(array));
  return cuArrayGetDescriptor(&shape, array);
}

CUresult set_context() {
  CUcontext context = own_context();
  if (!g_alive) must(cuCtxDestroy(context));
  return cuCtxSetCurrent(context);
}
CUresult push_context() {
  CUcontext context = own_context();
  if (!g_alive) must(cuCtxDestroy(context));
  return cuCtxPushCurrent(context);
}
CUresult ask_stream() {
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  must(cuStreamCreate(&stream, 0));
  if (!g_alive) must(cuStreamDestroy(stream));
  return cuStreamGetCtx(stream, &context);
}
CUresult add_to_graph() {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  must(cuGraphCreate(&graph, 0));
  if (!g_alive) must(cuGraphDestroy(graph));
  CUDA_HOST_NODE_PARAMS params{[](void*) {}, nullptr};
  return cuGraphAddHostNode(&node, graph, nullptr, 0, &params);
}

// A graph with one node, and the graph that becomes its child: itself, or its clone.
std::pair<CUgraph, CUgraph> graph_and_child() {
  CUgraph graph = nullptr, child = nullptr;
  CUgraphNode node = nullptr;
  must(cuGraphCreate(&graph, 0));
  must(cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  must(cuGraphClone(&child, graph));
  return {graph, g_alive ? child : graph};
}
CUresult add_own_child() {
  const auto [graph, child] = graph_and_child();
  CUgraphNode node = nullptr;
  return cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child);
}
CUresult add_own_child_by_params() {
#if CUDA_VERSION >= 13000
  const auto [graph, child] = graph_and_child();
  CUgraphNode node = nullptr;
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = child;
  return cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &params);
#else
  return add_own_child();
#endif
}

// A green context's resources: one, or none.
CUresult describe_nothing() {
  CUdevResource all{};
  CUdevResourceDesc description = nullptr;
  must(call("cuDeviceGetDevResource", CUdevice{0}, &all, CU_DEV_RESOURCE_TYPE_SM));
  return call("cuDevResourceGenerateDesc", &description, &all, g_alive ? 1u : 0u);
}

// A stream that captures, or has ended.
CUstream ended_stream() {
  CUstream stream = nullptr;
  must(cuStreamCreate(&stream, 0));
  must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  if (g_alive) return stream;
  CUgraph graph = nullptr;
  must(cuStreamEndCapture(stream, &graph));
  must(cuStreamDestroy(stream));
  return stream;
}
CUresult ask_capture() {
  CUstreamCaptureStatus status{};
  return cuStreamIsCapturing(ended_stream(), &status);
}
CUresult ask_capture_info() {
  CUstreamCaptureStatus status{};
  CUstream stream = ended_stream();
#if CUDA_VERSION >= 13000
  return cuStreamGetCaptureInfo(stream, &status, nullptr, nullptr, nullptr, nullptr, nullptr);
#else
  return cuStreamGetCaptureInfo(stream, &status, nullptr, nullptr, nullptr, nullptr);
#endif
}
CUresult ask_stream_of_thread() {
  CUcontext context = nullptr;
  return call("cuStreamGetCtx_ptsz", ended_stream(), &context);
}
CUresult ask_capture_of_thread() {
  CUstreamCaptureStatus status{};
  return call("cuStreamIsCapturing_ptsz", ended_stream(), &status);
}
CUresult ask_capture_info_of_thread() {
  CUstreamCaptureStatus status{};
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  return call("cuStreamGetCaptureInfo_v2_ptsz", ended_stream(), &status, &id, &graph, &nodes,
              &count);
}
CUresult end_capture() {
  CUgraph graph = nullptr;
  return cuStreamEndCapture(ended_stream(), &graph);
}

CUresult free_plain_by_params() {
  CUdeviceptr plain = 0;
  must(cuMemAlloc(&plain, kBytes));
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr, end = nullptr;
  must(cuGraphCreate(&graph, 0));
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  params.alloc.bytesize = kBytes;
  CUgraphNodeParams free{};
  free.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  const CUgraphNode* none = nullptr;
  const std::size_t zero = 0, one = 1;
  must(call("cuGraphAddNode", &node, graph, none, zero, &params));
  free.free.dptr = g_alive ? params.alloc.dptr : plain;
  return call("cuGraphAddNode", &end, graph, static_cast<const CUgraphNode*>(&node), one, &free);
}
CUresult free_plain_by_node() {
  CUdeviceptr plain = 0;
  must(cuMemAlloc(&plain, kBytes));
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr, end = nullptr;
  must(cuGraphCreate(&graph, 0));
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  params.bytesize = kBytes;
  must(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params));
  return cuGraphAddMemFreeNode(&end, graph, &node, 1, g_alive ? params.dptr : plain);
}
CUresult ask_host_address() {
  void* host = nullptr;
  CUdeviceptr address = 0;
  must(cuMemAllocHost(&host, kBytes));
  if (!g_alive) must(cuMemFreeHost(host));
  return cuMemHostGetDevicePointer(&address, host, 0);
}
CUresult ask_host_flags() {
  alignas(4096) static char buffer[1 << 16];
  unsigned flags = 0;
  must(cuMemHostRegister(buffer, sizeof buffer, 0));
  if (!g_alive) must(cuMemHostUnregister(buffer));
  return cuMemHostGetFlags(&flags, buffer);
}

CUresult array_of_context() {
  CUcontext context = own_context();
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR shape = kShape;
  must(cuArrayCreate(&array, &shape));
  if (!g_alive) must(cuCtxDestroy(context));
  must(cuCtxSetCurrent(primary()));
  return cuArrayGetDescriptor(&shape, array);
}

constexpr EndedCase kCases[] = {{"launch-function", launch_function},
                                {"ask-function", ask_function},
                                {"new-function", new_function},
                                {"launch-kernel", launch_kernel},
                                {"function-of-context", kernel_of_context},
                                {"fill-global", fill_global},
                                {"free-global", free_global},
                                {"copy-to-node-memory", copy_to_node_memory},
                                {"copy-from-host", copy_from_host},
                                {"copy-rows-to-unmapped", copy_rows_to_unmapped},
                                {"copy-from-new-host", copy_from_new_host},
                                {"copy-to-freed-host", copy_to_freed_host},
                                {"copy-from-freed-host", copy_from_freed_host},
                                {"copy-any-from-freed-host", copy_any_from_freed_host},
                                {"copy-from-host-of-context", copy_from_host_of_context},
                                {"touch-host-of-context", touch_host_of_context},
                                {"ask-host-of-context", ask_host_of_context},
                                {"copy-from-unregistered", copy_from_unregistered},
                                {"copy-from-own-after-unregister", copy_from_own_after_unregister},
                                {"ask-array", ask_array},
                                {"set-context", set_context},
                                {"push-context", push_context},
                                {"ask-stream", ask_stream},
                                {"add-to-graph", add_to_graph},
                                {"own-child", add_own_child},
                                {"describe-nothing", describe_nothing},
                                {"own-child-by-params", add_own_child_by_params},
                                {"ask-capture", ask_capture},
                                {"ask-capture-info", ask_capture_info},
                                {"ask-stream-of-thread", ask_stream_of_thread},
                                {"ask-capture-of-thread", ask_capture_of_thread},
                                {"ask-capture-info-of-thread", ask_capture_info_of_thread},
                                {"end-capture", end_capture},
                                {"free-plain-by-node", free_plain_by_node},
                                {"free-plain-by-params", free_plain_by_params},
                                {"ask-host-address", ask_host_address},
                                {"ask-host-flags", ask_host_flags},
                                {"array-of-context", array_of_context}};

}  // namespace

int main(int count, char** arguments) {
  g_alive = count > 2 && std::string_view(arguments[2]) == "alive";
  primary();
  for (const auto cases : {std::span<const EndedCase>(kCases), graph_cases(), semaphore_cases()}) {
    for (const EndedCase& one : cases) {
      if (count < 2 || one.name != arguments[1]) continue;
      std::printf("%d\n", one.call());
      std::fflush(stdout);
      std::_Exit(0);
    }
  }
  return 2;
}
