// SPDX-License-Identifier: Apache-2.0
// Graphs whose nodes are added one after the other. cuda.h has the rules of child graphs and of
// nodes of memory; an H100 gave the answers where it says none.
#include <algorithm>

#include "fuzz/objects/reference.h"

namespace cuvmm::fuzz::objects {

Expectation Reference::expect_graph(const Op& op) const {
  switch (op.code) {
    case Code::kGraph:
      return {.skip = lives(graphs_[op["g"]])};
    case Code::kClone:
      if (lives(graphs_[op["g"]]) || !lives(graphs_[op["child"]])) return kSkip;
      return graphs_[op["child"]]->memory ? kUnsupported : Expectation{};
    case Code::kGraphEnd:
    case Code::kCountNodes:
      return {.skip = !lives(graphs_[op["g"]])};
    case Code::kInstantiate:
    case Code::kLaunch:
    case Code::kExecutableEnd:
      return expect_executable(op);
    case Code::kFree: {
      const BlockPtr& block = memories_[op["m"]];
      return {.skip = !lives(block) || !block->of_graph};
    }
    default:
      return expect_node(op);
  }
}

bool Reference::usable_in(const Graph& graph, const BlockPtr& block) const {
  bool own = false, there = false;
  for (const Node& node : graph.nodes) {
    if (node.to != block) continue;
    if (node.kind == Node::Kind::kAlloc) own = there = true;
    if (node.kind == Node::Kind::kFree) there = false;
  }
  return own ? there : block->live;
}

Expectation Reference::expect_node(const Op& op) const {
  const auto& graph = graphs_[op["g"]];
  if (!lives(graph)) return kSkip;
  switch (op.code) {
    case Code::kEmptyNode:
      return {};
    case Code::kChildNode: {
      // A driver dies of a graph that is to be its own child.
      const auto& child = graphs_[op["child"]];
      if (!lives(child) || child == graph) return kSkip;
      return child->memory ? kUnsupported : Expectation{};
    }
    case Code::kFillNode: {
      const BlockPtr& to = memories_[op["m"]];
      const unsigned size = op["size"];
      if (!to || !usable_in(*graph, to)) return kSkip;
      if (size != 1 && size != 2 && size != 4) return kInvalid;
      // A value of more bytes than the element is spread in a way that few records show.
      if (size < 4 && op["value"] >> (8 * size) != 0) return kSkip;
      if (op["at"] + op["w"] * size > to->bytes.size()) return kSkip;
      return op["w"] == 0 || op["at"] % size != 0 ? kInvalid : Expectation{};
    }
    case Code::kCopyNode: {
      const BlockPtr &to = memories_[op["m"]], &from = memories_[op["n"]];
      if (!to || !from || to == from || !usable_in(*graph, to) || !usable_in(*graph, from)) {
        return kSkip;
      }
      const unsigned bytes = op["w"];
      if (op["at"] + bytes > to->bytes.size() || op["from"] + bytes > from->bytes.size()) {
        return kSkip;
      }
      return bytes == 0 ? kInvalid : Expectation{};
    }
    default:
      return expect_memory_node(op);
  }
}

Expectation Reference::expect_memory_node(const Op& op) const {
  const auto& graph = graphs_[op["g"]];
  const BlockPtr& block = memories_[op["m"]];
  if (op.code == Code::kAllocNode) {
    if (op["m"] < kLinears || block) return kSkip;  // each name stands for one memory
    return op["bytes"] == 0 ? kInvalid : Expectation{};
  }
  if (!block) return kSkip;
  if (!block->of_graph) return block->live ? kInvalid : kSkip;
  const bool own = std::any_of(graph->nodes.begin(), graph->nodes.end(), [&](const Node& node) {
    return node.kind == Node::Kind::kAlloc && node.to == block;
  });
  const bool freed = std::any_of(graph->nodes.begin(), graph->nodes.end(), [&](const Node& node) {
    return node.kind == Node::Kind::kFree && node.to == block;
  });
  // A later allocation node may have the address again, and then the name stands for its memory.
  const bool again = std::any_of(blocks_.begin(), blocks_.end(), [&](const BlockPtr& other) {
    return other != block && other->address == block->address;
  });
  if (freed) return again ? kSkip : kInvalid;
  // A node that comes after an instantiation cannot free memory that was instantiated.
  if (own ? graph->instantiated : !block->live) return kSkip;
  return {};
}

Expectation Reference::expect_executable(const Op& op) const {
  const auto& executable = executables_[op["e"]];
  if (op.code == Code::kExecutableEnd) return {.skip = !lives(executable)};
  if (op.code == Code::kInstantiate) {
    const auto& graph = graphs_[op["g"]];
    if (lives(executable) || !lives(graph)) return kSkip;
    if (graph->memory && graph->executables != 0) {
      // No record has an executable graph that was made before the first node of memory.
      return graph->plain_executables ? kSkip : kUnsupported;
    }
    const bool left = std::any_of(graph->nodes.begin(), graph->nodes.end(), [](const Node& node) {
      return node.kind == Node::Kind::kAlloc && node.to->live;
    });
    return left || !runs(graph->nodes) ? kSkip : Expectation{};
  }
  if (!lives(executable)) return kSkip;
  // cuda.h: memory of the last launch must have been freed.
  const Nodes& nodes = executable->nodes;
  const bool left = std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    return node.kind == Node::Kind::kAlloc && node.to->live;
  });
  if (left) return kInvalid;
  return runs(nodes) ? Expectation{} : kSkip;
}

bool Reference::runs(const Nodes& nodes) {
  std::vector<std::pair<BlockPtr, bool>> changed;
  const auto there = [&](const BlockPtr& block) {
    for (auto each = changed.rbegin(); each != changed.rend(); ++each) {
      if (each->first == block) return each->second;
    }
    return block->live;
  };
  for (const Node& node : nodes) {
    if (node.kind == Node::Kind::kChild && !runs(node.child)) return false;
    if (node.kind == Node::Kind::kAlloc) {
      changed.emplace_back(node.to, true);
      continue;
    }
    if ((node.to && !there(node.to)) || (node.from && !there(node.from))) return false;
    if (node.kind == Node::Kind::kFree) changed.emplace_back(node.to, false);
  }
  return true;
}

void Reference::run(const Nodes& nodes) {
  for (const Node& node : nodes) {
    switch (node.kind) {
      case Node::Kind::kEmpty:
        break;
      case Node::Kind::kChild:
        run(node.child);
        break;
      case Node::Kind::kFill:
        for (unsigned i = 0; i < node.bytes; ++i) {
          node.to->bytes[node.at + i] = static_cast<int>(node.value >> (8 * (i % node.size)) & 255);
        }
        break;
      case Node::Kind::kCopy:
        for (unsigned i = 0; i < node.bytes; ++i) {
          node.to->bytes[node.at + i] = node.from->bytes[node.from_at + i];
        }
        break;
      case Node::Kind::kAlloc:
        node.to->live = true;
        std::fill(node.to->bytes.begin(), node.to->bytes.end(), -1);
        break;
      case Node::Kind::kFree:
        node.to->live = false;
        break;
    }
  }
}

void Reference::accept_node(const Op& op, const Answer& answer) {
  Graph& graph = *graphs_[op["g"]];
  Node node;
  switch (op.code) {
    case Code::kFillNode:
      node = {Node::Kind::kFill,    memories_[op["m"]], nullptr,   op["at"], 0,
              op["w"] * op["size"], op["value"],        op["size"]};
      break;
    case Code::kCopyNode:
      node = {Node::Kind::kCopy, memories_[op["m"]], memories_[op["n"]],
              op["at"],          op["from"],         op["w"]};
      break;
    case Code::kChildNode:
      node.kind = Node::Kind::kChild;
      node.child = graphs_[op["child"]]->nodes;  // a copy, as cuda.h says
      break;
    case Code::kAllocNode:
      memories_[op["m"]] = std::make_shared<Block>(
          Block{std::vector<int>(op["bytes"], -1), answer.value, false, true});
      blocks_.push_back(memories_[op["m"]]);
      node.kind = Node::Kind::kAlloc;
      node.to = memories_[op["m"]];
      break;
    case Code::kFreeNode:
      node.kind = Node::Kind::kFree;
      node.to = memories_[op["m"]];
      break;
    default:
      break;
  }
  graph.memory |= node.kind == Node::Kind::kAlloc || node.kind == Node::Kind::kFree;
  graph.nodes.push_back(std::move(node));
}

// An H100 takes a graph for one with memory after a free node that it refused, for whatever
// address. A refused allocation node of no bytes changes nothing.
void Reference::refuse(const Op& op) {
  if (op.code == Code::kFreeNode) graphs_[op["g"]]->memory = true;
}

std::string Reference::accept_graph(const Op& op, const Answer& answer) {
  switch (op.code) {
    case Code::kGraph:
    case Code::kClone: {
      const bool taken = std::any_of(graphs_.begin(), graphs_.end(), [&](const auto& each) {
        return lives(each) && each->handle == answer.value;
      });
      if (taken) return "the handle of a graph that lives";
      Nodes nodes = op.code == Code::kClone ? graphs_[op["child"]]->nodes : Nodes{};
      graphs_[op["g"]] = std::make_shared<Graph>(Graph{std::move(nodes), answer.value});
      return "";
    }
    case Code::kGraphEnd:
      graphs_[op["g"]]->live = false;
      return "";
    case Code::kCountNodes:
      return answer.value == graphs_[op["g"]]->nodes.size() ? "" : "another number of nodes";
    case Code::kInstantiate: {
      const auto& graph = graphs_[op["g"]];
      graph->instantiated = true;
      ++graph->executables;
      graph->plain_executables |= !graph->memory;
      executables_[op["e"]] =
          std::make_shared<Executable>(Executable{graph->nodes, graph, answer.value});
      return "";
    }
    case Code::kLaunch:
      run(executables_[op["e"]]->nodes);
      return "";
    case Code::kExecutableEnd:
      executables_[op["e"]]->live = false;
      --executables_[op["e"]]->graph->executables;
      return "";
    case Code::kFree:
      memories_[op["m"]]->live = false;
      return "";
    default:
      accept_node(op, answer);
      return "";
  }
}

}  // namespace cuvmm::fuzz::objects
