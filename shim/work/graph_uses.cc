// SPDX-License-Identifier: Apache-2.0
#include "shim/work/graph_uses.h"

#include <utility>

#include "shim/work/pointers.h"

namespace cuvmm::shim {

namespace {

class Reader {
 public:
  Reader(const Questions& ask, Layouts& layouts, const Bounds& bounds)
      : ask_(ask), layouts_(layouts), bounds_(bounds) {}

  void read(CUgraph graph, int depth) {
    std::size_t count = 0;
    if (depth > kDeepest || ask_.graph_nodes(graph, nullptr, &count) != CUDA_SUCCESS) return;
    std::vector<CUgraphNode> nodes(count);
    if (count == 0 || ask_.graph_nodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return;
    nodes.resize(std::min(count, nodes.size()));
    for (CUgraphNode node : nodes) read_node(node, depth);
  }
  GraphUses take() {
    return {std::make_shared<const std::vector<UsedRange>>(std::move(ranges_)),
            std::move(arguments_)};
  }

 private:
  static constexpr int kDeepest = 16;

  void read_node(CUgraphNode node, int depth) {
    CUgraphNodeType type{};
    if (ask_.node_type(node, &type) != CUDA_SUCCESS) return;
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) return read_kernel(node);
    if (type == CU_GRAPH_NODE_TYPE_MEMCPY) return read_copy(node);
    if (type == CU_GRAPH_NODE_TYPE_MEMSET) return read_fill(node);
    CUgraph child = nullptr;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH && ask_.child_graph &&
        ask_.child_graph(node, &child) == CUDA_SUCCESS) {
      read(child, depth + 1);
    }
  }

  void read_kernel(CUgraphNode node) {
    CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
    if (!ask_.kernel_node || ask_.kernel_node(node, &kernel) != CUDA_SUCCESS) return;
    const auto function = kernel.func ? kernel.func : reinterpret_cast<CUfunction>(kernel.kern);
    if (!function) return;
    Pointers pointers;
    pointers.read(*layouts_.of(function), kernel.kernelParams, kernel.extra, bounds_);
    ranges_.insert(ranges_.end(), pointers.begin(), pointers.begin() + pointers.size());
    arguments_.insert(arguments_.end(), pointers.arguments(),
                      pointers.arguments() + pointers.argument_count());
  }

  void read_copy(CUgraphNode node) {
    CUDA_MEMCPY3D copy{};
    if (!ask_.memcpy_node || ask_.memcpy_node(node, &copy) != CUDA_SUCCESS) return;
    Touch list[kMaxTouches];
    const std::size_t count = touches(calls::Memcpy3D{&copy}, list);
    for (std::size_t i = 0; i < count; ++i) add(extent(list[i]));
  }

  void read_fill(CUgraphNode node) {
    CUDA_MEMSET_NODE_PARAMS fill{};
    if (!ask_.memset_node || ask_.memset_node(node, &fill) != CUDA_SUCCESS) return;
    if (fill.width == 0 || fill.height == 0) return;
    add({fill.dst, (fill.height - 1) * fill.pitch + fill.width * fill.elementSize});
  }

  void add(const UsedRange& range) {
    if (range.size == 0) return;
    if (bounds_.holds(range.base) || bounds_.holds(range.base + (range.size - 1))) {
      ranges_.push_back(range);
      arguments_.push_back({range.base, -1});
    }
  }

  const Questions& ask_;
  Layouts& layouts_;
  const Bounds& bounds_;
  std::vector<UsedRange> ranges_;
  std::vector<LaunchArgument> arguments_;
};

}  // namespace

GraphUses read_graph(const Questions& ask, Layouts& layouts, CUgraph graph, const Bounds& bounds) {
  Reader reader(ask, layouts, bounds);
  if (ask.graph_nodes && ask.node_type) reader.read(graph, 0);
  return reader.take();
}

UsedRange extent(const Touch& touch) {
  if (touch.width == 0 || touch.rows == 0 || touch.slices == 0) return {touch.base, 0};
  return {touch.base,
          (touch.slices - 1) * touch.slice_pitch + (touch.rows - 1) * touch.pitch + touch.width};
}

}  // namespace cuvmm::shim
