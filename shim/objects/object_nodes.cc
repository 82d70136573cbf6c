// SPDX-License-Identifier: Apache-2.0
// The part of the table that knows the functions of graphs' nodes.
#include "shim/objects/object_table.h"

namespace cuvmm::shim {

void ObjectTable::run_function(std::uint64_t graph, std::uint64_t node,
                               std::uint64_t function) noexcept {
  if (mutex_.held_here()) return;
  if (function == KernelNodes::kNullSemaphore) g_null_semaphores = true;
  const Locked lock(mutex_);
  try {
    graph != 0 ? kernel_nodes_.add(graph, node, function) : kernel_nodes_.change(node, function);
  } catch (...) {
    kernel_nodes_.clear();  // out of memory: no finding will name the nodes
  }
}

void ObjectTable::copy_nodes(std::uint64_t from, std::uint64_t to, std::uint64_t node) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  try {
    kernel_nodes_.copy(from, to, node);
  } catch (...) {
    kernel_nodes_.clear();
  }
}

void ObjectTable::execute(std::uint64_t executable, std::uint64_t graph) noexcept {
  if (mutex_.held_here()) return;
  const Locked lock(mutex_);
  try {
    kernel_nodes_.execute(executable, kernel_nodes_.functions(graph));
  } catch (...) {
    kernel_nodes_.clear();
  }
}

void ObjectTable::change_executable(std::uint64_t executable, std::uint64_t function) noexcept {
  if (mutex_.held_here()) return;
  if (function == KernelNodes::kNullSemaphore) g_null_semaphores = true;
  const Locked lock(mutex_);
  try {
    kernel_nodes_.change_executable(executable, function);
  } catch (...) {
    kernel_nodes_.clear();
  }
}

bool ObjectTable::executes(std::uint64_t executable, std::uint64_t function) noexcept {
  if (mutex_.held_here()) return false;
  const Locked lock(mutex_);
  return kernel_nodes_.executes(executable, function);
}

std::optional<EndedObject> ObjectTable::find_unloaded(std::uint64_t graph) noexcept {
  if (mutex_.held_here()) return std::nullopt;
  std::vector<std::uint64_t> functions;
  try {
    const Locked lock(mutex_);
    const auto known = kernel_nodes_.functions(graph);
    functions.assign(known.begin(), known.end());
  } catch (...) {
    // Out of memory: then no finding names the node.
  }
  return find_unloaded(functions);
}

std::optional<EndedObject> ObjectTable::find_unloaded(
    std::span<const std::uint64_t> functions) noexcept {
  if (functions.empty() || mutex_.held_here()) return std::nullopt;
  const Locked lock(mutex_);
  for (const std::uint64_t function : functions) {
    const auto found = ended_.find({PlainObject::Kind::kFunction, function});
    if (found == ended_.end() || found->second.with_context) continue;
    return ended_object(PlainObject::Kind::kFunction, function, found->second);
  }
  return std::nullopt;
}

bool ObjectTable::any_function_ended() noexcept {
  if (mutex_.held_here()) return false;
  const Locked lock(mutex_);
  const auto first = ended_.lower_bound({PlainObject::Kind::kFunction, 0});
  return first != ended_.end() && first->first.first == PlainObject::Kind::kFunction;
}

}  // namespace cuvmm::shim
