// SPDX-License-Identifier: Apache-2.0
#include "shim/objects/kernel_nodes.h"

#include <algorithm>
#include <utility>

namespace cuvmm::shim {

void KernelNodes::add(Handle graph, Handle node, Handle function) {
  if (nodes_.contains(node)) end_node(node);
  nodes_[node] = {graph, function};
  of_graph_[graph].insert(node);
}

void KernelNodes::change(Handle node, Handle function) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return forget_copies();
  found->second.function = function;
}

void KernelNodes::copy(Handle from, Handle to, Handle node) {
  const std::vector<Handle> all = functions(from);
  if (all.empty()) return;
  std::vector<Copy>& copies = copies_[to];
  for (const Handle function : all) copies.push_back({node, function});
}

void KernelNodes::end_node(Handle node) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) {
    of_graph_[found->second.graph].erase(node);
    nodes_.erase(found);
    return;
  }
  std::size_t ended = 0;
  for (auto& [graph, copies] : copies_) {
    ended += std::erase_if(copies, [&](const Copy& copy) { return copy.node == node; });
  }
  if (ended == 0) forget_copies();
}

void KernelNodes::end_graph(Handle graph) {
  copies_.erase(graph);
  const auto found = of_graph_.find(graph);
  if (found == of_graph_.end()) return;
  for (const Handle node : found->second) nodes_.erase(node);
  of_graph_.erase(found);
}

std::vector<KernelNodes::Handle> KernelNodes::functions(Handle graph) const {
  std::vector<Handle> out;
  if (const auto own = of_graph_.find(graph); own != of_graph_.end()) {
    for (const Handle node : own->second) out.push_back(nodes_.at(node).function);
  }
  if (const auto copied = copies_.find(graph); copied != copies_.end()) {
    for (const Copy& copy : copied->second) out.push_back(copy.function);
  }
  return out;
}

void KernelNodes::execute(Handle executable, std::vector<Handle> functions) {
  if (functions.empty())
    executables_.erase(executable);
  else
    executables_[executable] = std::move(functions);
}

// The node that lost a NULL semaphore may be any of those that had one.
void KernelNodes::change_executable(Handle executable, Handle function) {
  std::vector<Handle>& functions = executables_[executable];
  if (function == kSemaphores) std::erase(functions, kNullSemaphore);
  functions.push_back(function);
}

bool KernelNodes::executes(Handle executable, Handle function) const {
  const auto found = executables_.find(executable);
  return found != executables_.end() &&
         std::ranges::find(found->second, function) != found->second.end();
}

void KernelNodes::clear() {
  executables_.clear();
  nodes_.clear();
  of_graph_.clear();
  copies_.clear();
}

}  // namespace cuvmm::shim
