// SPDX-License-Identifier: Apache-2.0
// The session's part for graphs that allocate memory: when they are instantiated, changed and
// launched.
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "recorder/holdings/counted.h"
#include "recorder/holdings/words.h"
#include "rulebook/order/check_graph.h"
#include "shim/facts/host_memory.h"
#include "shim/session/session.h"

namespace cuvmm::shim {

Violations Session::note_graph(CUgraphExec exec, CUgraph graph, unsigned long long flags) {
  GraphMemoryReader reader = work_.memory_reader();
  GraphOrder order = work_.judges_graphs() ? reader.read(graph) : GraphOrder{};
  std::vector<UsedRange> left = left_by(order);
  for (const UsedRange& memory : left) work_.follow_named(memory.base, memory.size);
  for (const GraphOrder::Free& one : order.frees) {
    if (!allocates(order, one.address)) work_.free_elsewhere(one.address);
  }
  if (work_.active()) {
    std::vector<UsedRange> own;
    for (const GraphOrder::Allocation& one : order.allocations) own.push_back(one.memory);
    work_.graphs().add(exec, GraphRecord(work_.node_reader().graph(graph), std::move(own)));
  }
  if (work_.judges_graphs()) {
    const Everywhere everywhere;
    note_owned(exec, work_.node_reader(everywhere).graph(graph), nullptr, false);
  }
  // The driver gives the handle of a destroyed graph to the next one.
  work_.graphs().forget_order(exec);
  if (order.allocations.empty() && order.frees.empty()) [[likely]]
    return {};
  OwnUses own{nullptr, std::exchange(order.uses, {}), true};
  auto numbers = reader.numbers();
  {
    const Locked lock(mutex_);
    for (const GraphOrder::Allocation& one : order.allocations) {
      history_.causes.instantiated(one.memory.base, one.memory.size);
    }
    for (const GraphOrder::Free& one : order.frees) {
      if (allocates(order, one.address)) history_.causes.freed_within(one.address, {});
    }
    order.captured.resize(order.nodes);
    // Each node has a place of its own, so the order does not matter.
    // NOLINTNEXTLINE(bugprone-nondeterministic-pointer-iteration-order)
    for (const auto& [node, number] : numbers) {
      if (number < order.nodes) order.captured[number] = history_.causes.captured_by(node);
    }
  }
  own.graph = std::make_shared<const OrderedGraph>(
      OrderedGraph{std::move(order), std::move(numbers), std::move(left),
                   (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0});
  work_.graphs().keep_order(exec, own.graph);
  return check_change(own);
}

// The memory of the graph's own nodes has no owner that the model knows.
void Session::note_owned(CUgraphExec exec, const std::vector<NodeUses>& nodes, CUgraphNode only,
                         bool updated) {
  constexpr std::size_t kMostUses = 65536;
  std::vector<OwnedUse> owned;
  {
    const Locked lock(mutex_);
    for (const NodeUses& node : nodes) {
      std::vector<GraphOrder::Use> uses;
      add_uses(0, node.type, node, uses);
      const Origin captured = only ? Origin() : history_.causes.captured_by(node.node);
      for (const GraphOrder::Use& use : uses) {
        if (owned.size() == kMostUses) break;
        if (auto one = owned_use(history_.model, use, captured)) {
          one->node = node.node;
          owned.push_back(*one);
        }
      }
    }
  }
  only ? work_.graphs().change_owned(exec, only, std::move(owned))
       : work_.graphs().keep_owned(exec, std::move(owned), updated);
}

Violations Session::ended_uses(CUgraphExec exec) {
  const std::uint64_t generation = work_.arguments().generation() + 1;
  const std::vector<OwnedUse> uses = work_.graphs().owned_to_look_at(exec, generation);
  if (uses.empty()) return {};
  std::vector<OwnedUse> ended, unmapped;
  {
    const Locked lock(mutex_);
    for (const OwnedUse& one : uses) {
      if (auto found = ended_use(history_.model, one)) {
        ended.push_back(*found);
      } else if (one.use.of_host) {
        unmapped.push_back(one);
      }
    }
  }
  // A copy that was made for page-locked memory is the GPU's: it fails although the host can read
  // the memory, or a driver knows other memory there, unless devices reach all memory of the host.
  // Otherwise the driver or the host may have memory there that the model does not know.
  const bool by_gpu = !ended.empty() && !facts_.any_device_reaches_pageable();
  std::erase_if(ended, [&](const OwnedUse& one) {
    if (by_gpu && one.page_locked && one.use.range.size != 0) return false;
    return facts_.holds_memory(one.use.range.base) || host_can_read(one.use.range.base);
  });
  std::erase_if(unmapped,
                [](const OwnedUse& one) { return !FactFinder::unmapped(one.use.range.base); });
  ended.insert(ended.end(), unmapped.begin(), unmapped.end());
  if (ended.empty()) {
    work_.graphs().looked_at_owned(exec, generation);
    return {};
  }
  return {launch_of_ended(ended)};
}

Violations Session::check_change(const OwnUses& own) {
  if (!own.changed.empty() || own.updated) {
    note_owned(own.exec, own.changed, own.updated ? nullptr : own.changed.front().node,
               own.updated);
  }
  if (own.uses.empty()) [[likely]]
    return {};
  const Locked lock(mutex_);
  return check_graph(history_.model, own.graph->order, own.uses, own.as_captured);
}

void Session::note_graph_launch(CUgraphExec exec, const Caller& caller) {
  const auto graph = work_.graphs().order(exec);
  if (!graph) return;
  Origin here;
  number(here);
  here.stack = capture_stack(caller);
  note_function(here.stack, "cuGraphLaunch");
  const Locked lock(mutex_);
  for (const GraphOrder::Allocation& one : graph->order.allocations) {
    history_.causes.launched(one.memory.base, one.memory.size,
                             reinterpret_cast<std::uintptr_t>(exec), one.device, here);
  }
  for (const GraphOrder::Free& one : graph->order.frees) {
    if (allocates(graph->order, one.address)) {
      history_.causes.freed_within(one.address, here);
    } else {
      history_.causes.freed(one.address, here);
    }
  }
}

Violations Session::early_free(CUgraphExec exec, const QueuedWork::Ticket& ticket) {
  const auto graph = work_.graphs().order(exec);
  if (!graph || !graph->auto_free) return {};
  RareList<FoundWork> used;
  for (const UsedRange& memory : graph->left) {
    for (const Watched& watched : work_.watched().of(memory.base)) {
      if (work_.may_be_used(watched.memory)) {
        work_.find({.memory = watched.memory,
                    .since = watched.since,
                    .ordered_by = &ticket,
                    .before = what_ends_at(memory.base)},
                   used);
      }
    }
  }
  return check_auto_free({used.begin(), used.size()});
}

void Session::note_left(CUgraphExec exec, const QueuedWork::Ticket& ticket, Origin& launch) {
  const auto graph = work_.graphs().order(exec);
  if (!graph || graph->left.empty() || !ticket) return;
  if (launch.call == 0) number(launch);
  for (const UsedRange& memory : graph->left) {
    work_.leave_behind(ticket, {memory, launch.call});
  }
}

namespace {

// The launch of a graph whose node frees memory that does not exist: another graph allocates it.
Violation frees_nothing(std::uint64_t base, const Causes::NodeMemory& memory,
                        const Origin& free_node) {
  const std::string node = "a node of the graph frees memory " + hex_text(base) + " (" +
                           size_text(memory.size) + "), which another graph allocates";
  const bool ended = memory.freed_by.call > memory.allocated.call;
  std::string state = ", and no launch has allocated that memory yet";
  if (ended) {
    const std::string by = by_text(memory.freed_by.call, stack_function(memory.freed_by.stack));
    state = ", and" + by.substr(3) + " has freed that memory: no launch has allocated it since";
  }
  Violation v{Rule::kGraphFreeAlive, false, node + state, {}};
  const auto add = [&](ObjectRef::Kind kind, const Origin& made, const Origin& end) {
    if (made.call == 0) return;
    v.objects.push_back(
        {.kind = kind, .value = base, .size = memory.size, .made = made, .ended = end});
  };
  add(ObjectRef::Kind::kFreeingNode, free_node, {});
  if (memory.allocated.call != 0) {
    add(ObjectRef::Kind::kPoolMemory, memory.allocated, ended ? memory.freed_by : Origin());
  }
  add(ObjectRef::Kind::kAllocatingNode, memory.captured, {});
  v.fix = ended
              ? "Launch the graph that frees the memory once behind each launch of the graph that "
                "allocates it, and free the memory in no other way: leave this launch or the "
                "other free out, or launch the allocating graph again in between."
              : "Launch the graph that allocates the memory first, on the same stream, or on "
                "another one with an event in between that this launch waits for "
                "(cuStreamWaitEvent).";
  return v;
}

}  // namespace

bool Session::explain_relaunch(const Call& call, CUgraphExec exec, CUresult result,
                               const Caller& caller) {
  const auto graph = work_.graphs().order(exec);
  if (!graph) return false;
  Violations found;
  {
    const Locked lock(mutex_);
    for (const GraphOrder::Free& one : graph->order.frees) {
      const auto known = history_.causes.node_memory(one.address);
      if (!known || known->first != one.address || known->second.launched.call != 0) continue;
      if (allocates(graph->order, one.address)) continue;
      const auto& captured = graph->order.captured;
      found.push_back(frees_nothing(one.address, known->second,
                                    one.node < captured.size() ? captured[one.node] : Origin()));
      break;
    }
    for (const GraphOrder::Allocation& one : graph->order.allocations) {
      const auto known = history_.causes.node_memory(one.memory.base);
      if (!known || known->second.launched.call == 0) continue;
      const Origin& before = known->second.launched;
      found.push_back({Rule::kGraphMemoryFreed,
                       false,
                       "memory of the graph's allocation node, " + hex_text(known->first) +
                           ", lives since the launch of call " + std::to_string(before.call) +
                           ", and nobody has freed it",
                       {{.kind = ObjectRef::Kind::kPoolMemory,
                         .value = known->first,
                         .size = known->second.size,
                         .made = before,
                         .ended = {}}}});
      break;
    }
  }
  if (found.empty()) return false;
  Origin here;
  number(here);
  return report(call, std::move(found), {.result = result}, here.call, capture_stack(caller));
}

}  // namespace cuvmm::shim
