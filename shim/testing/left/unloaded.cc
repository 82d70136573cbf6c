// SPDX-License-Identifier: Apache-2.0
// Instantiates a graph whose kernel's code was unloaded, or updates an executable graph to it, in
// the way of the first argument. With the second argument "alive" the code stays; with "mapped" the
// process has mapped memory. Prints the answer.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "driver.h"

namespace {

constexpr const char* kPtx =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";

bool g_alive;

struct Code {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
};
Code load() {
  Code code;
  must(cuModuleLoadData(&code.module, kPtx));
  must(cuModuleGetFunction(&code.function, code.module, "nothing"));
  return code;
}
void unload(const Code& code) {
  if (!g_alive) must(cuModuleUnload(code.module));
}

CUDA_KERNEL_NODE_PARAMS once(CUfunction function) {
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = function;
  params.gridDimX = params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = params.blockDimY = params.blockDimZ = 1;
  return params;
}
struct Graph {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
};
Graph graph_of(CUfunction function) {
  Graph out;
  must(cuGraphCreate(&out.graph, 0));
  const CUDA_KERNEL_NODE_PARAMS params = once(function);
  must(cuGraphAddKernelNode(&out.node, out.graph, nullptr, 0, &params));
  return out;
}
CUresult instantiate(CUgraph graph) {
  CUgraphExec exec = nullptr;
  return cuGraphInstantiateWithFlags(&exec, graph, 0);
}

void map() {
  constexpr std::size_t kBytes = std::size_t{2} << 20;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr address = 0;
  must(cuMemCreate(&memory, kBytes, &prop, 0));
  must(cuMemAddressReserve(&address, kBytes, 0, 0, 0));
  must(cuMemMap(address, kBytes, 0, memory, 0));
}

CUresult node() {
  const Code code = load();
  const Graph graph = graph_of(code.function);
  unload(code);
  return instantiate(graph.graph);
}
CUresult node_by_params() {
#if CUDA_VERSION >= 13000
  const Code code = load();
  Graph graph;
  must(cuGraphCreate(&graph.graph, 0));
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel.func = code.function;
  params.kernel.gridDimX = params.kernel.gridDimY = params.kernel.gridDimZ = 1;
  params.kernel.blockDimX = params.kernel.blockDimY = params.kernel.blockDimZ = 1;
  must(cuGraphAddNode(&graph.node, graph.graph, nullptr, nullptr, 0, &params));
  unload(code);
  return instantiate(graph.graph);
#else
  return node();
#endif
}
CUresult kernel_of_library() {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  must(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  must(cuLibraryGetKernel(&kernel, library, "nothing"));
  Graph graph;
  must(cuGraphCreate(&graph.graph, 0));
  CUDA_KERNEL_NODE_PARAMS params = once(nullptr);
  params.kern = kernel;
  must(cuGraphAddKernelNode(&graph.node, graph.graph, nullptr, 0, &params));
  if (!g_alive) must(cuLibraryUnload(library));
  return instantiate(graph.graph);
}
CUresult changed_node() {
  const Code first = load(), second = load();
  const Graph graph = graph_of(first.function);
  const CUDA_KERNEL_NODE_PARAMS params = once(second.function);
  must(call("cuGraphKernelNodeSetParams_v2", graph.node, &params));
  unload(second);
  return instantiate(graph.graph);
}
CUresult child() {
  const Code code = load();
  const Graph inner = graph_of(code.function);
  Graph outer;
  must(cuGraphCreate(&outer.graph, 0));
  must(cuGraphAddChildGraphNode(&outer.node, outer.graph, nullptr, 0, inner.graph));
  must(cuGraphDestroy(inner.graph));
  unload(code);
  return instantiate(outer.graph);
}
CUresult clone() {
  const Code code = load();
  const Graph graph = graph_of(code.function);
  CUgraph copy = nullptr;
  must(cuGraphClone(&copy, graph.graph));
  must(cuGraphDestroy(graph.graph));
  unload(code);
  return instantiate(copy);
}

CUresult captured() {
  const Code code = load();
  CUstream stream = nullptr;
  Graph graph;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  must(cuLaunchKernel(code.function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  must(cuStreamEndCapture(stream, &graph.graph));
  unload(code);
  return instantiate(graph.graph);
}

// No graph runs the unloaded code any more, or no instantiation follows.
CUresult destroyed_node() {
  const Code code = load();
  const Graph graph = graph_of(code.function);
  must(cuGraphDestroyNode(graph.node));
  unload(code);
  return instantiate(graph.graph);
}
CUresult other_function() {
  const Code first = load(), second = load();
  const Graph graph = graph_of(first.function);
  const CUDA_KERNEL_NODE_PARAMS params = once(second.function);
  must(call("cuGraphKernelNodeSetParams_v2", graph.node, &params));
  unload(first);
  return instantiate(graph.graph);
}
CUresult changed_clone() {
  const Code first = load(), second = load();
  const Graph graph = graph_of(first.function);
  CUgraph copy = nullptr;
  CUgraphNode node = nullptr;
  must(cuGraphClone(&copy, graph.graph));
  must(call("cuGraphNodeFindInClone", &node, graph.node, copy));
  const CUDA_KERNEL_NODE_PARAMS params = once(second.function);
  must(call("cuGraphKernelNodeSetParams_v2", node, &params));
  unload(first);
  return instantiate(copy);
}
CUresult other_graph() {
  const Code first = load(), second = load();
  const Graph graph = graph_of(second.function);
  graph_of(first.function);
  unload(first);
  return instantiate(graph.graph);
}
CUresult made_before() {
  const Code code = load();
  const Graph graph = graph_of(code.function);
  CUgraphExec exec = nullptr;
  must(cuGraphInstantiateWithFlags(&exec, graph.graph, 0));
  unload(code);
  return cuGraphUpload(exec, nullptr);
}

// The answer to the update is that of the driver: it may be a failed update.
CUresult update(CUfunction from, CUgraph to, const Code& ends) {
  CUgraphExec exec = nullptr;
  must(cuGraphInstantiateWithFlags(&exec, graph_of(from).graph, 0));
  unload(ends);
  CUgraphExecUpdateResultInfo info{};
  return cuGraphExecUpdate(exec, to, &info);
}
CUresult update_to_other() {
  const Code first = load(), second = load();
  return update(first.function, graph_of(second.function).graph, second);
}
CUresult update_to_captured() {
  const Code first = load(), second = load();
  CUstream stream = nullptr;
  CUgraph captured = nullptr;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  must(cuLaunchKernel(second.function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  must(cuStreamEndCapture(stream, &captured));
  return update(first.function, captured, second);
}
// The executable graph has the function already, or gets rid of it.
CUresult update_to_equal() {
  const Code code = load();
  return update(code.function, graph_of(code.function).graph, code);
}
CUresult update_from_unloaded() {
  const Code first = load(), second = load();
  return update(first.function, graph_of(second.function).graph, first);
}

constexpr struct {
  std::string_view name;
  CUresult (*call)();
} kCases[] = {{"node", node},
              {"node-by-params", node_by_params},
              {"kernel-of-library", kernel_of_library},
              {"changed-node", changed_node},
              {"child", child},
              {"clone", clone},
              {"captured", captured},
              {"destroyed-node", destroyed_node},
              {"other-function", other_function},
              {"changed-clone", changed_clone},
              {"other-graph", other_graph},
              {"made-before", made_before},
              {"update-to-other", update_to_other},
              {"update-to-captured", update_to_captured},
              {"update-to-equal", update_to_equal},
              {"update-from-unloaded", update_from_unloaded}};

}  // namespace

int main(int count, char** arguments) {
  const std::string_view way = count > 2 ? arguments[2] : "";
  g_alive = way == "alive";
  primary();
  if (way == "mapped") map();
  for (const auto& one : kCases) {
    if (count < 2 || one.name != arguments[1]) continue;
    std::printf("%d\n", one.call());
    std::fflush(stdout);
    std::_Exit(0);
  }
  return 2;
}
