// SPDX-License-Identifier: Apache-2.0
#include "emulator/objects/graphs.h"

#include <algorithm>
#include <queue>
#include <type_traits>

namespace cuvmm::emulator {

template <class Handle>
Handle Graphs::next() {
  constexpr std::uintptr_t kStep = 0x100;
  last_ += kStep;
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(last_);
  } else {
    return last_;
  }
}

CUgraph Graphs::add(Graph&& graph) {
  CUgraph handle = next<CUgraph>();
  graph.number = ++last_number_;
  for (const auto& node : graph.nodes) homes_[node->handle()] = handle;
  graphs_.emplace(handle, std::move(graph));
  return handle;
}

const Graph* Graphs::find(CUgraph handle) const {
  const auto found = graphs_.find(handle);
  return found == graphs_.end() ? nullptr : &found->second;
}

GraphNode* Graphs::find(CUgraphNode handle, CUgraph* graph) const {
  const auto found = homes_.find(handle);
  if (found == homes_.end()) return nullptr;
  if (graph) *graph = found->second;
  return reinterpret_cast<GraphNode*>(handle);
}

void Graphs::add(CUgraph graph, std::shared_ptr<GraphNode> node) {
  homes_[node->handle()] = graph;
  graphs_.at(graph).nodes.push_back(std::move(node));
}

void Graphs::erase(CUgraph graph, GraphNode& node) {
  for (CUgraph body : node.bodies) erase(body);
  homes_.erase(node.handle());
  GraphNodes& nodes = graphs_.at(graph).nodes;
  for (const auto& each : nodes) {
    std::erase_if(each->dependencies, [&](const Dependency& d) { return d.on == &node; });
  }
  std::erase_if(nodes, [&](const auto& each) { return each.get() == &node; });
}

void Graphs::erase(CUgraph handle) {
  const auto found = graphs_.find(handle);
  if (found == graphs_.end()) return;
  for (const auto& node : found->second.nodes) {
    homes_.erase(node->handle());
    for (CUgraph body : node->bodies) erase(body);
  }
  std::erase_if(conditions_, [&](const auto& entry) { return entry.second.graph == handle; });
  const auto objects = std::move(found->second.user_objects);
  graphs_.erase(found);
  release_all(objects);
}

CUgraph Graphs::clone(CUgraph handle, CUgraph parent) {
  Graph copy;
  copy.parent = parent;
  copy.original = handle;
  copy.user_objects = graphs_.at(handle).user_objects;
  for (const auto& [object, count] : copy.user_objects) retain(object, count);
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : graphs_.at(handle).nodes) {
    copy.nodes.push_back(std::make_shared<GraphNode>(*node));
    copy.nodes.back()->original = node.get();
    copies[node.get()] = copy.nodes.back().get();
  }
  for (const auto& node : copy.nodes) {
    for (Dependency& dependency : node->dependencies) dependency.on = copies.at(dependency.on);
  }
  CUgraph made = add(std::move(copy));
  for (const auto& node : graphs_.at(made).nodes) {
    for (CUgraph& body : node->bodies) body = clone(body, made);
  }
  return made;
}

bool Graphs::within(CUgraph graph, CUgraph outer) const {
  while (graph && graph != outer) graph = find(graph)->parent;
  return graph;
}

bool Graphs::order(CUgraph handle, Steps& out) const {
  const GraphNodes& nodes = graphs_.at(handle).nodes;
  std::unordered_map<const GraphNode*, std::size_t> places;
  for (std::size_t i = 0; i < nodes.size(); ++i) places[nodes[i].get()] = i;
  std::vector<std::vector<std::size_t>> dependents(nodes.size());
  std::vector<std::size_t> waits_for(nodes.size());
  // The queue gives the node that was made first among those that can run.
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    waits_for[i] = nodes[i]->dependencies.size();
    for (const Dependency& d : nodes[i]->dependencies) dependents[places.at(d.on)].push_back(i);
    if (waits_for[i] == 0) free.push(i);
  }
  while (!free.empty()) {
    const std::size_t i = free.top();
    free.pop();
    Step step{nodes[i]->handle(), std::make_shared<GraphNode>(*nodes[i])};
    for (CUgraph body : nodes[i]->bodies) {
      if (!order(body, step.bodies.emplace_back())) return false;
    }
    out.push_back(std::move(step));
    for (const std::size_t next : dependents[i]) {
      if (--waits_for[next] == 0) free.push(next);
    }
  }
  return out.size() == nodes.size();
}

CUgraphConditionalHandle Graphs::add(const Condition& condition) {
  const auto handle = next<CUgraphConditionalHandle>();
  conditions_.emplace(handle, condition);
  return handle;
}

const Condition* Graphs::find(CUgraphConditionalHandle handle) const {
  const auto found = conditions_.find(handle);
  return found == conditions_.end() ? nullptr : &found->second;
}

void Graphs::use(CUgraphConditionalHandle handle) { conditions_.at(handle).used = true; }

bool Graphs::uses_all_conditions(CUgraph graph) const {
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const auto& entry) {
    return entry.second.graph != graph || entry.second.used;
  });
}

CUgraphExec Graphs::add(Executable&& executable) {
  const auto handle = next<CUgraphExec>();
  executables_.emplace(handle, std::move(executable));
  return handle;
}

Executable* Graphs::find(CUgraphExec handle) {
  const auto found = executables_.find(handle);
  return found == executables_.end() ? nullptr : &found->second;
}

void Graphs::erase(CUgraphExec handle) {
  const auto found = executables_.find(handle);
  if (found == executables_.end()) return;
  const auto objects = found->second.user_objects();
  executables_.erase(found);
  release_all(objects);
}

const NodeMemory* Graphs::memory_at(CUdeviceptr address) const {
  const auto holds = [&](const GraphNode& node) {
    return node.memory && node.memory->holds(address);
  };
  for (const auto& [handle, graph] : graphs_) {
    for (const auto& node : graph.nodes) {
      if (holds(*node)) return node->memory.get();
    }
  }
  const NodeMemory* found = nullptr;
  for (const auto& [handle, executable] : executables_) {
    for_each_step(executable.steps(), [&](const Step& step) {
      if (holds(*step.node)) found = step.node->memory.get();
      return found ? CUDA_ERROR_ALREADY_MAPPED : CUDA_SUCCESS;  // an error ends the walk
    });
    if (found) break;
  }
  return found;
}

bool Graphs::instantiated_with_memory(CUgraph graph, CUgraphExec but) const {
  return std::any_of(executables_.begin(), executables_.end(), [&](const auto& entry) {
    const auto& [handle, made] = entry;
    return handle != but && made.graph() == graph && made.of_memory();
  });
}

CUuserObject Graphs::add(const UserObject& object) {
  const auto handle = next<CUuserObject>();
  user_objects_.emplace(handle, object);
  return handle;
}

bool Graphs::retain(CUuserObject object, unsigned count) {
  const auto found = user_objects_.find(object);
  if (found == user_objects_.end()) return false;
  found->second.references += count;
  return true;
}

bool Graphs::release(CUuserObject object, unsigned count) {
  const auto found = user_objects_.find(object);
  if (found == user_objects_.end() || found->second.references < count) return false;
  found->second.references -= count;
  if (found->second.references != 0) return true;
  ended_.push_back(found->second);
  user_objects_.erase(found);
  return true;
}

bool Graphs::retain(CUgraph graph, CUuserObject object, unsigned count, bool move) {
  const auto found = user_objects_.find(object);
  if (found == user_objects_.end() || (move && found->second.references < count)) return false;
  if (!move) found->second.references += count;
  graphs_.at(graph).user_objects[object] += count;
  return true;
}

bool Graphs::release(CUgraph graph, CUuserObject object, unsigned count) {
  auto& held = graphs_.at(graph).user_objects;
  const auto found = held.find(object);
  if (found == held.end() || found->second < count) return false;
  found->second -= count;
  if (found->second == 0) held.erase(found);
  return release(object, count);
}

void Graphs::release_all(const std::map<CUuserObject, unsigned>& references) {
  for (const auto& [object, count] : references) release(object, count);
}

}  // namespace cuvmm::emulator
