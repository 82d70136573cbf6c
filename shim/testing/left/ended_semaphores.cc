// SPDX-License-Identifier: Apache-2.0
// Calls by which a driver dies because an array is missing, and nodes of external semaphores with a
// NULL semaphore in a graph that is launched. "alive": with the array, or without a count.
#include "driver.h"
#include "ended_case.h"

namespace {

CUexternalSemaphore g_null = nullptr;
CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS g_signal{};
CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS g_wait{};

void give(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS& to) { to.paramsArray = &g_signal; }
void give(CUDA_EXT_SEM_WAIT_NODE_PARAMS& to) { to.paramsArray = &g_wait; }

// One semaphore, which is NULL, with both arrays.
template <class Params>
Params one_null() {
  Params params{};
  params.extSemArray = &g_null;
  params.numExtSems = 1;
  give(params);
  return params;
}
template <class Params>
Params without_arrays() {
  if (g_alive) return one_null<Params>();
  Params params{};
  params.numExtSems = 1;
  return params;
}

// call() takes the types of its arguments.
constexpr const CUgraphNode* kNone = nullptr;
constexpr std::size_t kNoNodes = 0;

CUgraph new_graph() {
  CUgraph graph = nullptr;
  must(cuGraphCreate(&graph, 0));
  return graph;
}
CUgraphExec instantiate(CUgraph graph) {
  CUgraphExec executable = nullptr;
  must(cuGraphInstantiateWithFlags(&executable, graph, 0));
  return executable;
}
using Signal = CUDA_EXT_SEM_SIGNAL_NODE_PARAMS;
using Wait = CUDA_EXT_SEM_WAIT_NODE_PARAMS;
CUgraphNode add(CUgraph graph, const Signal& params) {
  CUgraphNode node = nullptr;
  must(call("cuGraphAddExternalSemaphoresSignalNode", &node, graph, kNone, kNoNodes, &params));
  return node;
}

CUresult signal() {
  CUgraphNode node = nullptr;
  const Signal params = without_arrays<Signal>();
  return call("cuGraphAddExternalSemaphoresSignalNode", &node, new_graph(), kNone, kNoNodes,
              &params);
}
CUresult wait() {
  CUgraphNode node = nullptr;
  Wait params = one_null<Wait>();
  if (!g_alive) params.paramsArray = nullptr;
  return call("cuGraphAddExternalSemaphoresWaitNode", &node, new_graph(), kNone, kNoNodes, &params);
}
CUresult by_params() {
#if CUDA_VERSION >= 13000
  CUgraphNode node = nullptr;
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
  params.extSemSignal.numExtSems = 1;
  if (g_alive) {
    params.extSemSignal.extSemArray = &g_null;
    params.extSemSignal.paramsArray = &g_signal;
  }
  return cuGraphAddNode(&node, new_graph(), nullptr, nullptr, 0, &params);
#else
  return signal();
#endif
}
CUresult set() {
  CUgraphNode node = add(new_graph(), {});
  const Signal params = without_arrays<Signal>();
  return call("cuGraphExternalSemaphoresSignalNodeSetParams", node, &params);
}
CUresult alloc_node() {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  params.bytesize = 4096;
  params.accessDescCount = g_alive ? 0 : 1;
  CUgraphNode node = nullptr;
  return call("cuGraphAddMemAllocNode", &node, new_graph(), kNone, kNoNodes, &params);
}
constexpr const char* kTakesOne =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry take(.param .u64 to) { ret; "
    "}\n";
CUresult library_options() {
  CUlibrary library = nullptr;
  return cuLibraryLoadData(&library, kTakesOne, nullptr, nullptr, 0, nullptr, nullptr,
                           g_alive ? 0 : 1);
}
CUresult packed_size() {
  CUmodule module = nullptr;
  CUfunction take = nullptr;
  must(cuModuleLoadData(&module, kTakesOne));
  must(cuModuleGetFunction(&take, module, "take"));
  CUdeviceptr to = 0;
  std::size_t size = sizeof to;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &to, CU_LAUNCH_PARAM_BUFFER_SIZE,
                   g_alive ? &size : nullptr, CU_LAUNCH_PARAM_END};
  return cuLaunchKernel(take, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra);
}

CUresult launch() {
  CUgraph graph = new_graph();
  add(graph, g_alive ? Signal{} : one_null<Signal>());
  return cuGraphLaunch(instantiate(graph), nullptr);
}
CUresult launch_of_child() {
  CUgraph inner = new_graph(), outer = new_graph();
  add(inner, g_alive ? Signal{} : one_null<Signal>());
  CUgraphNode node = nullptr;
  must(cuGraphAddChildGraphNode(&node, outer, nullptr, 0, inner));
  return cuGraphLaunch(instantiate(outer), nullptr);
}
CUresult launch_of_updated() {
  CUgraph graph = new_graph(), next = new_graph();
  add(graph, {});
  add(next, g_alive ? Signal{} : one_null<Signal>());
  CUgraphExec executable = instantiate(graph);
  CUgraphExecUpdateResultInfo info{};
  must(cuGraphExecUpdate(executable, next, &info));
  return cuGraphLaunch(executable, nullptr);
}
// The node named NULL, and does so no more.
CUresult launch_of_mended() {
  CUgraph graph = new_graph();
  CUgraphNode node = add(graph, one_null<Signal>());
  const Signal none{};
  must(call("cuGraphExternalSemaphoresSignalNodeSetParams", node, &none));
  return cuGraphLaunch(instantiate(graph), nullptr);
}

constexpr EndedCase kSemaphoreCases[] = {{"semaphores-signal", signal},
                                         {"semaphores-wait", wait},
                                         {"semaphores-by-params", by_params},
                                         {"semaphores-set", set},
                                         {"alloc-node-access", alloc_node},
                                         {"library-options", library_options},
                                         {"packed-size", packed_size},
                                         {"semaphore-launch", launch},
                                         {"semaphore-launch-of-child", launch_of_child},
                                         {"semaphore-launch-of-updated", launch_of_updated},
                                         {"semaphore-launch-of-mended", launch_of_mended}};

}  // namespace

std::span<const EndedCase> semaphore_cases() { return kSemaphoreCases; }
