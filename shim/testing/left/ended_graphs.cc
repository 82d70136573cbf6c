// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs that name an object after its end, copies of memory of the host and events among
// them; and nodes after their own end.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

#include "driver.h"
#include "ended_case.h"

namespace {

constexpr std::size_t kCopied = std::size_t{1} << 20;

CUdeviceptr device_memory() {
  CUdeviceptr memory = 0;
  must(cuMemAlloc(&memory, kCopied));
  return memory;
}
// The program's own memory, registered.
void* registered() {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* const host = ::mmap(nullptr, kCopied, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (host == MAP_FAILED) {
    std::perror("mmap");
    std::_Exit(70);
  }
  must(cuMemHostRegister(host, kCopied, 0));
  return host;
}
void* page_locked() {
  void* host = nullptr;
  must(cuMemAllocHost(&host, kCopied));
  return host;
}
void unregister(void* host) { must(cuMemHostUnregister(host)); }
void unmap(void* host) {
  unregister(host);
  ::munmap(host, kCopied);
}
void free_host(void* host) { must(cuMemFreeHost(host)); }
void register_again(void* host) {
  unregister(host);
  must(cuMemHostRegister(host, kCopied, 0));
}

CUgraph captured_copy(const void* host) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  must(cuMemcpyHtoDAsync(device_memory(), host, kCopied, stream));
  must(cuStreamEndCapture(stream, &graph));
  return graph;
}
CUgraph added_copy(const void* host) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  must(cuGraphCreate(&graph, 0));
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device_memory();
  copy.WidthInBytes = kCopied;
  copy.Height = copy.Depth = 1;
  must(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, primary()));
  return graph;
}

// Launches the graph, and waits for it.
CUresult launched(CUgraphExec graph) {
  const CUresult result = cuGraphLaunch(graph, CU_STREAM_LEGACY);
  return result == CUDA_SUCCESS ? cuCtxSynchronize() : result;
}
CUgraphExec instantiated(CUgraph graph) {
  CUgraphExec executable = nullptr;
  must(cuGraphInstantiate(&executable, graph, 0));
  return executable;
}
// Launches the graph before the end of the memory, and behind it.
CUresult launched_twice(CUgraph graph, void* host, void (*end)(void*)) {
  CUgraphExec executable = instantiated(graph);
  must(launched(executable));
  if (!g_alive) end(host);
  return launched(executable);
}

CUresult captured_unregistered() {
  void* const host = registered();
  return launched_twice(captured_copy(host), host, unregister);
}
CUresult captured_unmapped() {
  void* const host = registered();
  return launched_twice(captured_copy(host), host, unmap);
}
CUresult captured_freed() {
  void* const host = page_locked();
  return launched_twice(captured_copy(host), host, free_host);
}
CUresult added_unregistered() {
  void* const host = registered();
  return launched_twice(added_copy(host), host, unregister);
}
CUresult registered_again() {
  void* const host = registered();
  return launched_twice(captured_copy(host), host, register_again);
}
CUresult added_behind_unmap() {
  void* const host = registered();
  if (!g_alive) unmap(host);
  return launched(instantiated(added_copy(host)));
}
// Memory that was never page-locked.
CUresult added_pageable_unmapped() {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* const host = ::mmap(nullptr, kCopied, PROT_READ | PROT_WRITE, flags, -1, 0);
  return launched_twice(added_copy(host), host, [](void* memory) { ::munmap(memory, kCopied); });
}
// A copy of memory that is not page-locked any more when the graph gets it is the host's.
CUresult added_behind_unregister() {
  void* const host = registered();
  unregister(host);
  return launched(instantiated(added_copy(host)));
}

CUevent event() {
  CUevent event = nullptr;
  must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  if (!g_alive) must(cuEventDestroy(event));
  return event;
}
CUresult record_node() {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  must(cuGraphCreate(&graph, 0));
  return cuGraphAddEventRecordNode(&node, graph, nullptr, 0, event());
}
CUresult wait_node() {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  must(cuGraphCreate(&graph, 0));
  return cuGraphAddEventWaitNode(&node, graph, nullptr, 0, event());
}

// A graph and a node of it; the graph has ended, or only the node.
struct GraphAndNode {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
};
GraphAndNode make_graph() {
  GraphAndNode made;
  must(cuGraphCreate(&made.graph, 0));
  must(cuGraphAddEmptyNode(&made.node, made.graph, nullptr, 0));
  return made;
}
CUresult ask_node() {
  const GraphAndNode made = make_graph();
  if (!g_alive) must(cuGraphDestroy(made.graph));
  CUgraphNodeType type{};
  return cuGraphNodeGetType(made.node, &type);
}
CUresult ask_destroyed_node() {
  const GraphAndNode made = make_graph();
  if (!g_alive) must(cuGraphDestroyNode(made.node));
  CUgraphNodeType type{};
  return cuGraphNodeGetType(made.node, &type);
}
CUresult depend_on_node() {
  GraphAndNode made = make_graph();
  const GraphAndNode other = make_graph();
  CUgraphNode next = nullptr;
  if (!g_alive) {
    must(cuGraphDestroy(made.graph));
    return cuGraphAddEmptyNode(&next, other.graph, &made.node, 1);
  }
  return cuGraphAddEmptyNode(&next, made.graph, &made.node, 1);
}
// The driver returns the handle of the old node for a node of a capture.
CUresult new_node() {
  GraphAndNode old = make_graph();
  must(cuGraphDestroy(old.graph));
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  must(cuMemAlloc(&memory, kCopied));
  must(cuStreamCreate(&stream, 0));
  must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  must(cuMemsetD8Async(memory, 1, kCopied, stream));
  CUgraph graph = nullptr;
  must(cuStreamEndCapture(stream, &graph));
  CUgraphNode node = nullptr;
  std::size_t count = 1;
  must(cuGraphGetNodes(graph, &node, &count));
  CUgraphNodeType type{};
  return cuGraphNodeGetType(node, &type);
}

constexpr EndedCase kGraphCases[] = {{"ask-node", ask_node},
                                     {"ask-destroyed-node", ask_destroyed_node},
                                     {"depend-on-node", depend_on_node},
                                     {"new-node", new_node},
                                     {"captured-copy-unregistered", captured_unregistered},
                                     {"captured-copy-unmapped", captured_unmapped},
                                     {"captured-copy-freed", captured_freed},
                                     {"added-copy-unregistered", added_unregistered},
                                     {"captured-copy-registered-again", registered_again},
                                     {"copy-added-behind-unmap", added_behind_unmap},
                                     {"pageable-copy-unmapped", added_pageable_unmapped},
                                     {"copy-added-behind-unregister", added_behind_unregister},
                                     {"record-node", record_node},
                                     {"wait-node", wait_node}};

}  // namespace

std::span<const EndedCase> graph_cases() { return kGraphCases; }
