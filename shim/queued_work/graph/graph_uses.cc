// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/graph/graph_uses.h"

#include <algorithm>
#include <utility>

#include "rulebook/batch/operations.h"
#include "rulebook/order/host_wait.h"
#include "shim/queued_work/arguments/pointers.h"
#include "shim/queued_work/places.h"

namespace cuvmm::shim {

std::vector<NodeUses> NodeReader::graph(CUgraph graph, int depth) const {
  std::vector<NodeUses> nodes;
  if (ask_.graph_nodes && ask_.node_type) read(graph, depth, nodes);
  return nodes;
}

template <class Body>
void NodeReader::each_node(CUgraph graph, int depth, const Body& body) const {
  std::size_t count = 0;
  if (depth > kDeepest || ask_.graph_nodes(graph, nullptr, &count) != CUDA_SUCCESS) return;
  std::vector<CUgraphNode> nodes(count);
  if (count == 0 || ask_.graph_nodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return;
  nodes.resize(std::min(count, nodes.size()));
  for (CUgraphNode node : nodes) {
    CUgraphNodeType type{};
    if (ask_.node_type(node, &type) != CUDA_SUCCESS) continue;
    body(node, type, depth);
    CUgraph child = nullptr;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH && ask_.child_graph &&
        ask_.child_graph(node, &child) == CUDA_SUCCESS) {
      each_node(child, depth + 1, body);
    }
  }
}

void NodeReader::read(CUgraph graph, int depth, std::vector<NodeUses>& out) const {
  each_node(graph, depth, [&](CUgraphNode node, CUgraphNodeType type, int at) {
    NodeUses& uses = out.emplace_back(this->node(node, type));
    uses.node = node;
    uses.type = type;
    uses.depth = at;
    uses.tells |= tells_the_host(type);
    uses.waits = waits_for_others(type);
  });
}

std::vector<std::uint64_t> NodeReader::functions(CUgraph graph) const {
  std::vector<std::uint64_t> out;
  if (!ask_.graph_nodes || !ask_.node_type || !ask_.kernel_node) return out;
  each_node(graph, 0, [&](CUgraphNode node, CUgraphNodeType type, int) {
    CUDA_KERNEL_NODE_PARAMS_v2 params{};
    if (type != CU_GRAPH_NODE_TYPE_KERNEL || ask_.kernel_node(node, &params) != CUDA_SUCCESS)
      return;
    const auto function = params.func ? params.func : reinterpret_cast<CUfunction>(params.kern);
    out.push_back(reinterpret_cast<std::uintptr_t>(function));
  });
  return out;
}

NodeUses NodeReader::node(CUgraphNode node, CUgraphNodeType type) const {
  if (type == CU_GRAPH_NODE_TYPE_KERNEL && ask_.kernel_node) {
    CUDA_KERNEL_NODE_PARAMS_v2 params{};
    if (ask_.kernel_node(node, &params) != CUDA_SUCCESS) return {};
    const auto function = params.func ? params.func : reinterpret_cast<CUfunction>(params.kern);
    return kernel(function, params.kernelParams, params.extra);
  }
  if (type == CU_GRAPH_NODE_TYPE_MEMCPY && ask_.memcpy_node) {
    CUDA_MEMCPY3D params{};
    if (ask_.memcpy_node(node, &params) == CUDA_SUCCESS) return copy(params);
  }
  if (type == CU_GRAPH_NODE_TYPE_MEMSET && ask_.memset_node) {
    CUDA_MEMSET_NODE_PARAMS params{};
    if (ask_.memset_node(node, &params) != CUDA_SUCCESS) return {};
    return fill(params.dst, params.pitch, params.elementSize, params.width, params.height);
  }
  if (type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP && ask_.batch_node) {
    CUDA_BATCH_MEM_OP_NODE_PARAMS params{};
    if (ask_.batch_node(node, &params) == CUDA_SUCCESS) {
      return batch(params.paramArray, params.count);
    }
  }
  return {};
}

NodeUses NodeReader::kernel(CUfunction function, void** parameters, void** extra) const {
  NodeUses uses;
  if (!function) return uses;
  const Layout& layout = layouts_.of(function);
  uses.function = layout.function;
  Pointers pointers;
  pointers.read(layout, parameters, extra, bounds_, maps_);
  // cuvmm does not know how far into a tensor the kernel goes. Only the ranges of copies and fills
  // in a graph are ranges of which the node uses all bytes.
  const UsedMemory memory = pointers.memory();
  for (const GivenWord word : memory.pointers) {
    uses.ranges.push_back({word.address(), 0, word.evidence()});
  }
  for (const UsedRange& tensor : memory.ranges) uses.ranges.push_back({tensor.base, 0});
  uses.arguments.resize(Pointers::kMostArguments);
  uses.arguments.resize(pointers.arguments(uses.arguments.data()));
  uses.tells =
      any_written(layout, parameters, extra, [&](Address word) { return reaches_host(word); });
  return uses;
}

namespace {

struct Start {
  std::size_t x, y, z;
};

// The bytes from the first to the last that a copy reads or writes in memory of the host.
UsedRange host_side(const CUDA_MEMCPY3D& copy, const void* host, std::size_t pitch,
                    std::size_t height, const Start& start) {
  if (copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0) return {};
  const std::size_t slice = pitch * height;
  const auto at = reinterpret_cast<std::uintptr_t>(host) + start.z * slice + start.y * pitch;
  return {at + start.x, (copy.Depth - 1) * slice + (copy.Height - 1) * pitch + copy.WidthInBytes};
}

}  // namespace

NodeUses NodeReader::copy(const CUDA_MEMCPY3D& copy) const {
  NodeUses uses;
  Touch list[kMaxTouches];
  const std::size_t count = touches(calls::Memcpy3D{&copy}, list);
  for (std::size_t i = 0; i < count; ++i) add(uses, extent(list[i]));
  const std::size_t before = uses.ranges.size();
  if (copy.srcMemoryType == CU_MEMORYTYPE_HOST) {
    add(uses, host_side(copy, copy.srcHost, copy.srcPitch, copy.srcHeight,
                        {copy.srcXInBytes, copy.srcY, copy.srcZ}));
  }
  if (copy.dstMemoryType == CU_MEMORYTYPE_HOST) {
    add(uses, host_side(copy, copy.dstHost, copy.dstPitch, copy.dstHeight,
                        {copy.dstXInBytes, copy.dstY, copy.dstZ}));
  }
  uses.of_host = uses.ranges.size() - before;
  const bool array = copy.dstMemoryType == CU_MEMORYTYPE_ARRAY;
  uses.tells = copy.dstMemoryType == CU_MEMORYTYPE_HOST || (!array && reaches_host(copy.dstDevice));
  return uses;
}

NodeUses NodeReader::fill(CUdeviceptr to, std::size_t pitch, std::size_t element, std::size_t width,
                          std::size_t height) const {
  NodeUses uses;
  if (width != 0 && height != 0) add(uses, {to, (height - 1) * pitch + width * element});
  uses.tells = reaches_host(to);
  return uses;
}

NodeUses NodeReader::batch(CUstreamBatchMemOpParams* list, unsigned count) const {
  NodeUses uses;
  uses.tells = uses.waits = true;
  calls::StreamBatchMemOp call{};
  call.count = count;
  call.paramArray = list;
  for (std::size_t i = 0; i < operations(call); ++i) {
    const Operation one = operation(call, i);
    for (std::size_t k = 0; k < one.count; ++k) add(uses, extent(one.list[k]));
  }
  return uses;
}

bool NodeReader::reaches_host(Address address) const {
  return host_ && host_->holds(address) && ask_place(ask_, address).place != Place::kDevice;
}

void NodeReader::add(NodeUses& to, const UsedRange& range) const {
  if (range.size == 0) return;
  if (bounds_.holds(range.base) || bounds_.holds(range.base + (range.size - 1))) {
    to.ranges.push_back(range);
    to.arguments.push_back({.value = range.base, .touched = true});
  }
}

UsedRange extent(const Touch& touch) {
  if (touch.width == 0 || touch.rows == 0 || touch.slices == 0) return {touch.base, 0};
  return {touch.base,
          (touch.slices - 1) * touch.slice_pitch + (touch.rows - 1) * touch.pitch + touch.width};
}

}  // namespace cuvmm::shim
