// SPDX-License-Identifier: Apache-2.0
#include "rulebook/order/check_graph.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "rulebook/order/check_work.h"

namespace cuvmm {
using namespace detail;

namespace {

using Node = std::size_t;

// Memory from its allocation to its free. A later allocation of the same graph may get the
// addresses of memory that the graph has freed.
struct Lifetime {
  UsedRange memory;
  Node begins = 0;
  std::optional<Node> ends;  // nothing: the memory outlives the graph, or the free is unknown
};

class Order {
 public:
  explicit Order(const GraphOrder& graph) : next_(graph.nodes) {
    std::vector<std::size_t> waits_for(graph.nodes, 0);
    for (const auto& [before, after] : graph.edges) {
      next_[before].push_back(after);
      ++waits_for[after];
    }
    for (Node node = 0; node < graph.nodes; ++node) {
      if (waits_for[node] == 0) nodes_.push_back(node);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const Node after : next_[nodes_[i]]) {
        if (--waits_for[after] == 0) nodes_.push_back(after);
      }
    }
  }
  /// Each node after all nodes that it waits for. If nodes wait in a circle, some are missing.
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Node>& next(Node node) const { return next_[node]; }

 private:
  std::vector<std::vector<Node>> next_;
  std::vector<Node> nodes_;
};

// For each node, and for up to 64 lifetimes with one bit each: which lifetimes have begun at the
// node, and which end after it. Follows the edges only.
class Reach {
 public:
  static constexpr std::size_t kMost = 64;

  Reach(const Order& order, const Lifetime* lifetimes, std::size_t count)
      : begun_(order.nodes().size(), 0), to_end_(order.nodes().size(), 0) {
    for (std::size_t i = 0; i < count; ++i) {
      begun_[lifetimes[i].begins] |= bit(i);
      if (lifetimes[i].ends) to_end_[*lifetimes[i].ends] |= bit(i);
    }
    const std::vector<Node>& nodes = order.nodes();
    for (const Node node : nodes) {
      for (const Node after : order.next(node)) begun_[after] |= begun_[node];
    }
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      for (const Node after : order.next(*node)) to_end_[*node] |= to_end_[after];
    }
  }
  bool begun(Node node, std::size_t i) const { return (begun_[node] & bit(i)) != 0; }
  bool to_end(Node node, std::size_t i) const { return (to_end_[node] & bit(i)) != 0; }

 private:
  static std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << i; }
  std::vector<std::uint64_t> begun_, to_end_;
};

// The lifetimes, sorted by address. A free ends the newest allocation at its address; a free of
// memory of another graph ends nothing here.
std::vector<Lifetime> lifetimes_of(const GraphOrder& graph, const Order& order) {
  std::vector<std::size_t> place(graph.nodes);
  for (std::size_t i = 0; i < order.nodes().size(); ++i) place[order.nodes()[i]] = i;
  std::multimap<std::size_t, const GraphOrder::Allocation*> begins;
  for (const auto& each : graph.allocations) begins.emplace(place[each.node], &each);
  std::multimap<std::size_t, const GraphOrder::Free*> ends;
  for (const auto& each : graph.frees) ends.emplace(place[each.node], &each);

  std::vector<Lifetime> all;
  std::map<Address, std::size_t> open;
  auto next = begins.begin();
  for (const auto& [at, free] : ends) {
    for (; next != begins.end() && next->first < at; ++next) {
      open[next->second->memory.base] = all.size();
      all.push_back({next->second->memory, next->second->node, {}});
    }
    const auto found = open.find(free->address);
    if (found == open.end()) continue;
    all[found->second].ends = free->node;
    open.erase(found);
  }
  for (; next != begins.end(); ++next) {
    all.push_back({next->second->memory, next->second->node, {}});
  }
  std::stable_sort(all.begin(), all.end(), [](const Lifetime& a, const Lifetime& b) {
    return a.memory.base < b.memory.base;
  });
  return all;
}

bool meet(const UsedRange& use, const UsedRange& memory) {
  if (use.base >= memory.base) return use.base - memory.base < memory.size;
  return memory.base - use.base < use.size;
}

bool lies_behind(const UsedRange& memory, const UsedRange& use) {
  return memory.base > use.base && memory.base - use.base >= use.size;
}

bool ends_at(const UsedRange& memory, Address address) {
  return address - memory.base == memory.size;
}

// A kernel that receives both the begin and the end of memory does not use the byte at the end.
bool may_be_an_end(const Model& model, const GraphOrder& graph,
                   const std::vector<GraphOrder::Use>& uses, const GraphOrder::Use& use) {
  const Address address = use.range.base;
  if (use.range.size != 0) return false;
  if (model.mapping_at(address - 1) || memory_at(model, address - 1)) return true;
  for (const auto& other : graph.allocations) {
    if (!ends_at(other.memory, address)) continue;
    const bool begins_there =
        std::any_of(uses.begin(), uses.end(), [&](const GraphOrder::Use& beside) {
          return beside.node == use.node && meet(beside.range, other.memory);
        });
    if (begins_there) return true;
  }
  return false;
}

// The verdict about one use. A use is right if it fits into any lifetime of the memory that it
// meets.
struct Verdict {
  bool fits = false;
  const Lifetime* wrong = nullptr;
  bool early = false;  // whether the use comes before the lifetime `wrong`
};

std::vector<Verdict> judge(const std::vector<GraphOrder::Use>& uses, const Order& order,
                           const std::vector<Lifetime>& lifetimes) {
  std::vector<Verdict> verdicts(uses.size());
  for (std::size_t first = 0; first < lifetimes.size(); first += Reach::kMost) {
    const std::size_t count = std::min(Reach::kMost, lifetimes.size() - first);
    const Reach reach(order, &lifetimes[first], count);
    Address end = 0;
    for (std::size_t i = 0; i < count; ++i) {
      end = std::max(end, lifetimes[first + i].memory.base + lifetimes[first + i].memory.size);
    }
    for (std::size_t u = 0; u < uses.size(); ++u) {
      const GraphOrder::Use& use = uses[u];
      Verdict& verdict = verdicts[u];
      if (use.range.base >= end) continue;
      for (std::size_t i = 0; i < count && !verdict.fits; ++i) {
        const Lifetime& lifetime = lifetimes[first + i];
        if (lies_behind(lifetime.memory, use.range)) break;
        if (!meet(use.range, lifetime.memory)) continue;
        const bool early = !reach.begun(use.node, i);
        // A free that does not come after the allocation frees other memory.
        const bool freed = lifetime.ends && reach.begun(*lifetime.ends, i);
        const bool late = freed && !reach.to_end(use.node, i);
        verdict.fits = !early && !late;
        // A use that comes too late is the better explanation, so such a lifetime replaces the one
        // that was found before.
        if (verdict.fits || (verdict.wrong && early)) continue;
        verdict.wrong = &lifetime;
        verdict.early = early;
      }
    }
  }
  return verdicts;
}

std::string wrong_text(const GraphOrder::Use& use, const Verdict& verdict) {
  const UsedRange& memory = verdict.wrong->memory;
  return use_text(use) + " uses memory that the graph " + (verdict.early ? "allocates" : "frees") +
         ", " + range(memory.base, memory.size) + ", and nothing orders it " +
         (verdict.early ? "behind the allocation" : "before the free");
}

// The nodes that the message names, as far as the calls that captured them are known.
std::vector<ObjectRef> captured_nodes(const GraphOrder& graph, const GraphOrder::Use& use,
                                      const Verdict& verdict, bool as_captured) {
  std::vector<ObjectRef> objects;
  const auto add = [&](ObjectRef::Kind kind, Node node, const UsedRange& range) {
    if (node >= graph.captured.size() || graph.captured[node].call == 0) return;
    objects.push_back({.kind = kind,
                       .value = range.base,
                       .size = range.size,
                       .made = graph.captured[node],
                       .ended = {}});
  };
  const Lifetime& memory = *verdict.wrong;
  if (as_captured) add(ObjectRef::Kind::kUsingNode, use.node, use.range);
  if (verdict.early || !memory.ends) {
    add(ObjectRef::Kind::kAllocatingNode, memory.begins, memory.memory);
  } else {
    add(ObjectRef::Kind::kFreeingNode, *memory.ends, memory.memory);
  }
  return objects;
}

}  // namespace

std::string use_text(const GraphOrder::Use& use) {
  std::string text = use.function ? "the kernel " + *use.function : "a " + std::string(use.what);
  if (use.range.size != 0) return text + " of " + range(use.range.base, use.range.size);
  text += " (argument ";
  if (use.argument >= 0) text += std::to_string(use.argument) + " is ";
  return text + hex_text(use.range.base) + ")";
}

bool allocates(const GraphOrder& graph, Address base) {
  return std::any_of(graph.allocations.begin(), graph.allocations.end(),
                     [&](const GraphOrder::Allocation& one) { return one.memory.base == base; });
}

std::vector<UsedRange> left_by(const GraphOrder& graph) {
  std::vector<UsedRange> left;
  for (const GraphOrder::Allocation& one : graph.allocations) {
    const bool freed =
        std::any_of(graph.frees.begin(), graph.frees.end(),
                    [&](const GraphOrder::Free& free) { return free.address == one.memory.base; });
    if (!freed) left.push_back(one.memory);
  }
  return left;
}

Violations check_auto_free(const Facts::Order& order) {
  Collector out;
  if (order.count != 0) {
    add_work(out, order, Rule::kGraphAutoFreeOrdered, Rule::kGraphAutoFreeOrdered,
             "memory that an earlier launch of the graph has left is freed");
  }
  return out.take();
}

Violations check_graph(const Model& model, const GraphOrder& graph) {
  return check_graph(model, graph, graph.uses, true);
}

Violations check_graph(const Model& model, const GraphOrder& graph,
                       const std::vector<GraphOrder::Use>& uses, bool as_captured) {
  const Order order(graph);
  if (order.nodes().size() != graph.nodes) return {};
  const std::vector<Lifetime> lifetimes = lifetimes_of(graph, order);
  const std::vector<Verdict> verdicts = judge(uses, order, lifetimes);
  std::string first;
  std::vector<ObjectRef> objects;
  std::vector<Node> wrong;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const GraphOrder::Use& use = uses[i];
    if (verdicts[i].fits || !verdicts[i].wrong) continue;
    if (may_be_an_end(model, graph, uses, use)) continue;
    if (wrong.empty()) {
      first = wrong_text(use, verdicts[i]);
      objects = captured_nodes(graph, use, verdicts[i], as_captured);
    }
    if (wrong.empty() || wrong.back() != use.node) wrong.push_back(use.node);
  }
  Collector out;
  if (wrong.size() > 1) first += "; " + std::to_string(wrong.size() - 1) + " more likewise";
  if (!wrong.empty()) out.add(Rule::kGraphMemoryOrdered, first).objects = std::move(objects);
  return out.take();
}

}  // namespace cuvmm
