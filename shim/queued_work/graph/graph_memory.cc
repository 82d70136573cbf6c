// SPDX-License-Identifier: Apache-2.0
#include "shim/queued_work/graph/graph_memory.h"

#include <algorithm>
#include <unordered_map>

namespace cuvmm::shim {

namespace {

const char* name_of(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return "kernel";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return "copy";
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return "fill";
    default:
      return "batch";
  }
}

}  // namespace

void add_uses(std::size_t node, CUgraphNodeType type, const NodeUses& uses,
              std::vector<GraphOrder::Use>& out) {
  GraphOrder::Use use;
  use.node = node;
  use.what = name_of(type);
  use.function = uses.function;
  if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
    for (const LaunchArgument& argument : uses.arguments) {
      use.range = {argument.value, 0};
      use.argument = argument.index;
      out.push_back(use);
    }
    return;
  }
  const std::size_t first_of_host = uses.ranges.size() - uses.of_host;
  for (std::size_t i = 0; i < uses.ranges.size(); ++i) {
    use.range = uses.ranges[i];
    use.of_host = i >= first_of_host;
    out.push_back(use);
  }
}

void widen(Bounds& bounds, const std::vector<GraphOrder::Allocation>& allocations) {
  for (const GraphOrder::Allocation& one : allocations) {
    bounds.widen(one.memory.base, one.memory.size);
  }
}

bool GraphMemoryReader::read_memory(const Member& member) {
  if (member.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    if (ask_.allocation_node(member.node, &params) != CUDA_SUCCESS) return false;
    order_.allocations.push_back({member.begins,
                                  {params.dptr, params.bytesize},
                                  cuvmm::device_of(params.poolProps.location)});
  } else if (member.type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
    CUdeviceptr address = 0;
    if (ask_.free_node(member.node, &address) != CUDA_SUCCESS) return false;
    order_.frees.push_back({member.begins, address});
  }
  return true;
}

bool GraphMemoryReader::read_members(CUgraph graph, int depth, std::size_t begins,
                                     std::size_t ends) {
  std::size_t count = 0;
  if (depth > NodeReader::kDeepest || ask_.graph_nodes(graph, nullptr, &count) != CUDA_SUCCESS)
    return false;
  std::vector<CUgraphNode> nodes(count);
  if (count != 0 && ask_.graph_nodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return false;
  nodes.resize(std::min(count, nodes.size()));
  std::vector<Member> members;
  for (CUgraphNode node : nodes) {
    Member member;
    member.node = node;
    if (ask_.node_type(node, &member.type) != CUDA_SUCCESS) return false;
    member.begins = member.ends = order_.nodes++;
    if (!read_memory(member)) return false;
    CUgraph child = nullptr;
    if (member.type == CU_GRAPH_NODE_TYPE_GRAPH && ask_.child_graph &&
        ask_.child_graph(node, &child) == CUDA_SUCCESS) {
      member.ends = order_.nodes++;
      if (!read_members(child, depth + 1, member.begins, member.ends)) return false;
    }
    members.push_back(member);
  }
  levels_.push_back({graph, begins, ends, std::move(members)});
  return true;
}

bool GraphMemoryReader::read_edges(const Level& level) {
  std::size_t count = 0;
  const auto ask = [&](CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data) {
    return (ask_.graph_edges
                ? ask_.graph_edges(level.graph, from, to, data, &count)
                : ask_.plain_graph_edges(level.graph, from, to, &count)) == CUDA_SUCCESS;
  };
  if (!ask(nullptr, nullptr, nullptr)) return false;
  std::vector<CUgraphNode> from(count), to(count);
  std::vector<CUgraphEdgeData> data(count);
  if (count != 0 && !ask(from.data(), to.data(), data.data())) return false;
  std::unordered_map<CUgraphNode, const Member*> members;
  for (const Member& member : level.members) members[member.node] = &member;
  // A dependency between kernels that begins before the first kernel is done has no documented
  // order: cuvmm counts it as an order.
  for (std::size_t i = 0; i < std::min(count, from.size()); ++i) {
    const auto before = members.find(from[i]), after = members.find(to[i]);
    if (before == members.end() || after == members.end()) return false;
    order_.edges.push_back({before->second->ends, after->second->begins});
  }
  for (const Member& member : level.members) {
    if (level.begins != level.ends) {
      order_.edges.push_back({level.begins, member.begins});
      order_.edges.push_back({member.ends, level.ends});
    }
    if (member.begins != member.ends) order_.edges.push_back({member.begins, member.ends});
  }
  return true;
}

GraphOrder GraphMemoryReader::read(CUgraph graph) {
  const bool reported = read_members(graph, 0, 0, 0);
  if (!reported) return {};
  if (order_.allocations.empty()) {
    GraphOrder others;
    others.frees = std::move(order_.frees);
    others.nodes = order_.nodes;
    return others;
  }
  Bounds bounds;
  widen(bounds, order_.allocations);
  const NodeReader reader(ask_, layouts_, maps_, bounds);
  for (const Level& level : levels_) {
    if (!read_edges(level)) return {};
    for (const Member& member : level.members) {
      add_uses(member.begins, member.type, reader.node(member.node, member.type), order_.uses);
    }
  }
  return std::move(order_);
}

std::unordered_map<CUgraphNode, std::size_t> GraphMemoryReader::numbers() const {
  std::unordered_map<CUgraphNode, std::size_t> all;
  for (const Level& level : levels_) {
    for (const Member& member : level.members) all[member.node] = member.begins;
  }
  return all;
}

}  // namespace cuvmm::shim
