// SPDX-License-Identifier: Apache-2.0
// cuGraphDebugDotPrint: a graph as a text for Graphviz, in the form of an H100's driver.
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/code/kernel_params.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"

namespace cuvmm::emulator {

namespace {

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

const char* type_name(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return "KERNEL";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return "MEMCPY";
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return "MEMSET";
    case CU_GRAPH_NODE_TYPE_HOST:
      return "HOST";
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return "EMPTY";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return "EVENT_WAIT";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return "EVENT_RECORD";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return "MEM_ALLOC";
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return "MEM_FREE";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return "BATCH_MEM_OP";
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return "CONDITIONAL";
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
      return "EXT_SEMAS_SIGNAL";
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return "EXT_SEMAS_WAIT";
    default:
      return "NODE";
  }
}

const char* shape_of(CUgraphNodeType type) {
  if (type == CU_GRAPH_NODE_TYPE_MEMCPY) return "trapezium";
  return type == CU_GRAPH_NODE_TYPE_MEMSET ? "invtrapezium" : "rectangle";
}

char side(CUmemorytype type) {
  if (type == CU_MEMORYTYPE_HOST) return 'H';
  return type == CU_MEMORYTYPE_ARRAY ? 'A' : 'D';
}

// The line that every form of the text has for a node of this kind.
std::string summary(Emulator& e, const GraphNode& node) {
  if (const auto* copy = std::get_if<CUDA_MEMCPY3D>(&node.params)) {
    return format("(%cto%c,%zu)\n", side(copy->srcMemoryType), side(copy->dstMemoryType),
                  copy->WidthInBytes * copy->Height * copy->Depth);
  }
  if (const auto* fill = std::get_if<CUDA_MEMSET_NODE_PARAMS>(&node.params))
    return format("(%u,%zu)\n", fill->value, fill->elementSize * fill->width * fill->height);
  const auto* kernel = std::get_if<std::shared_ptr<const KernelParams>>(&node.params);
  if (!kernel || !*kernel) return "";
  const Function* function = e.modules.find((*kernel)->params().func);
  return function ? function->name.substr(0, 256) + "\n" : "";
}

// The parameters that CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE asks for.
std::string parameters(const GraphNode& node) {
  if (const auto* event = std::get_if<CUevent>(&node.params))
    return format("event: %p\n", static_cast<void*>(*event));
  if (const auto* host = std::get_if<CUDA_HOST_NODE_PARAMS>(&node.params))
    return format("fn: %p\nuserData: %p\n", reinterpret_cast<void*>(host->fn), host->userData);
  if (const auto* memory = std::get_if<CUDA_MEM_ALLOC_NODE_PARAMS>(&node.params))
    return format("bytesize: %zu\ndptr: 0x%llx\n", memory->bytesize, memory->dptr);
  if (const auto* freed = std::get_if<CUDA_MEM_FREE_NODE_PARAMS>(&node.params))
    return format("dptr: 0x%llx\n", freed->dptr);
  if (const auto* batch = std::get_if<BatchParams>(&node.params))
    return format("operations: %zu\n", batch->operations.size());
  return "";
}

std::string name(const Graph& graph, std::size_t node) {
  return format("\"graph_%u_node_%zu\"", graph.number, node);
}

// The edges, by the nodes that they begin at.
std::string edges(const Graph& graph) {
  std::unordered_map<const GraphNode*, std::size_t> index;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) index[graph.nodes[i].get()] = i;
  std::vector<std::string> from(graph.nodes.size());
  for (std::size_t to = 0; to < graph.nodes.size(); ++to) {
    for (const Dependency& each : graph.nodes[to]->dependencies) {
      const std::size_t begin = index.at(each.on);
      from[begin] += name(graph, begin) + " -> " + name(graph, to) + ";\n";
    }
  }
  return std::accumulate(from.begin(), from.end(), std::string());
}

// Writes a graph, then the graphs that its nodes own.
void draw(Emulator& e, CUgraph handle, unsigned flags, std::string& out) {
  const Graph& graph = *e.graphs.find(handle);
  const bool verbose = flags & CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE;
  out += format("subgraph cluster_%u {\nlabel=\"graph_%u\" graph[style=\"dashed\"];\n",
                graph.number, graph.number);
  std::vector<CUgraph> owned;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    GraphNode& node = *graph.nodes[i];
    out += name(graph, i) +
           format("[style=\"solid\" shape=\"%s\"%slabel=\"%zu\n", shape_of(node.type),
                  node.type == CU_GRAPH_NODE_TYPE_MEMCPY || node.type == CU_GRAPH_NODE_TYPE_MEMSET
                      ? ""  // an H100 leaves out the space
                      : " ",
                  i);
    out += node.type == CU_GRAPH_NODE_TYPE_GRAPH
               ? format("graph_%u\n", e.graphs.find(node.bodies.front())->number)
               : type_name(node.type) + std::string("\n");
    if (verbose || (flags & CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
      out += format("node handle: %p\n", static_cast<void*>(node.handle()));
    out += summary(e, node);
    if (verbose) out += parameters(node);
    out += "\"];\n\n";
    owned.insert(owned.end(), node.bodies.begin(), node.bodies.end());
  }
  out += edges(graph) + "}\n";
  for (CUgraph body : owned) draw(e, body, flags, out);
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuGraphDebugDotPrint, CUgraph handle, const char* path, unsigned flags) {
  return locked([&](Emulator& e) -> CUresult {
    const Graph* const graph = e.graphs.find(handle);
    if (!graph || graph->broken || !path) return CUDA_ERROR_INVALID_VALUE;
    std::string text = "digraph dot {\n";
    draw(e, handle, flags, text);
    std::ofstream file(path, std::ios::binary);
    file << text << "}\n";
    return file.flush() ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
  });
}

}  // namespace cuvmm::emulator
