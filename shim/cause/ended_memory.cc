// SPDX-License-Identifier: Apache-2.0
// Why a driver refused a call, or died of it: the memory or the object that it names has ended.
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/visit_call.h"
#include "api/words.h"
#include "recorder/holdings/counted.h"
#include "rulebook/check/check_support.h"
#include "rulebook/data/refused.h"
#include "shim/cause/context_end.h"
#include "shim/objects/object_table.h"
#include "shim/session/session_run.h"

namespace cuvmm::shim {

namespace {

// A global of code that was unloaded, if no other fact about the address is known.
Violations ended_global(const Touch& touch) {
  const auto ended = object_table().find_ended_global(touch.base);
  if (!ended) return {};
  return {{Rule::kDataAlive,
           false,
           std::string(touch.parameter) + ": " + hex_text(touch.base) +
               " is in a global of a module or a library that " +
               (ended->with_context ? "ended with its context" : "was unloaded"),
           {ended->object},
           1,
           ended->with_context
               ? cuvmm::detail::kFixOfContextEnd
               : "Unload the module or library (cuModuleUnload, cuLibraryUnload) behind the last "
                 "use of its globals, and ask for the address again after a new load."}};
}

// The facts about memory that the host cannot read: the memory has ended, or it is registered and
// its pages are unmapped.
Violations ended_on_host(const Model& model, const Touch& touch) {
  Violations found = check_refused_touches(model, &touch, 1);
  found.erase_if([](const Violation& v) { return v.rule != Rule::kDataAlive; });
  const PlainMemory* const m = model.memory().at(touch.base);
  if (m && m->kind == PlainMemory::Kind::kRegistered) {
    found.push_back({Rule::kDataAlive,
                     false,
                     std::string(touch.parameter) + ": " + hex_text(touch.base) +
                         " is in registered memory that the host cannot read: it was unmapped, or "
                         "protected",
                     {{.kind = ObjectRef::Kind::kMemory,
                       .value = m->base,
                       .size = m->size,
                       .made = m->made,
                       .ended = {}}},
                     1,
                     "Keep the memory mapped and accessible until its last use, and call "
                     "cuMemHostUnregister before it is unmapped."});
  }
  return found;
}

}  // namespace

// Whether the driver knows memory at the address that the model does not: memory of another kind,
// or memory larger than the program asked for. Then it refused the call for another reason.
bool Session::touches_well(const Touch& touch, const Violation& violation) const {
  const bool ended = violation.rule != Rule::kDataInside;
  if (ended && !names_device(touch) && !facts_.unreadable(touch.base)) return true;
  const ObjectRef& object = violation.objects.front();
  const bool outside = object.value > touch.base || touch.base - object.value >= object.size;
  if (ended || outside) return facts_.holds_memory(touch.base);
  Facts::Ipc memory;
  facts_.find_memory(touch.base, memory);
  return memory.size > object.size || memory.size == 0;
}

Violations Session::explain_refusal(const Touch* touches, std::size_t count, const CUstream* on) {
  Violations all;
  for (std::size_t i = 0; i < count; ++i) {
    Violations found;
    {
      const Locked lock(mutex_);
      const std::uint64_t plain_ended = history_.plain_ended;
      found = check_refused_touches(history_.model, &touches[i], 1);
      found.erase_if([&](const Violation& v) {
        return v.rule == Rule::kDataMapped &&
               (v.objects.empty() || v.objects.back().ended.call < plain_ended);
      });
    }
    if (found.empty()) found = ended_global(touches[i]);
    if (!found.empty() && !touches_well(touches[i], found.front())) all.append(found);
  }
  // Of a copy or fill, which a device makes.
  if (all.empty() && on) {
    Facts::Place place;
    facts_.find_device(*on, true, place);
    for (std::size_t i = 0; i < count && all.empty(); ++i) {
      if (touches[i].peer_source) continue;
      const int owner = facts_.device_of_memory(touches[i].base);
      const Locked lock(mutex_);
      all = check_refused_pool(history_.model, touches[i], place.device, owner);
    }
  }
  return all;
}

Violations Session::explain_graph_memory(const Touch& touch) {
  std::optional<std::pair<std::uint64_t, Causes::NodeMemory>> known;
  {
    const Locked lock(mutex_);
    // Captured memory exists when its graph is launched.
    if (!history_.causes.capturing()) known = history_.causes.node_memory(touch.base);
  }
  if (!known) return {};
  const auto& [base, memory] = *known;
  std::string by;
  if (memory.captured.call != 0) by = ", captured by call " + std::to_string(memory.captured.call);
  const Origin& freed = memory.freed_by;
  const bool ended = memory.launched.call == 0 && freed.call > memory.allocated.call;
  const std::string state = ended ? by_text(freed.call, stack_function(freed.stack)).substr(3) +
                                        " has freed it, and no "
                                        "launch of the graph has allocated it since"
                                  : " it exists from a launch of the graph on, until it is freed";
  Violation v{Rule::kDataAlive,
              false,
              std::string(touch.parameter) + ": " + hex_text(touch.base) +
                  " is in memory of a graph's allocation node" + by +
                  ", and does not exist now:" + state,
              {{.kind = ObjectRef::Kind::kPoolMemory,
                .value = base,
                .size = memory.size,
                .made = ended ? memory.allocated : memory.captured,
                .ended = ended ? freed : Origin()}},
              1,
              "Use the memory between a launch of its graph and its free: in the graph itself, or "
              "on the stream of the launch behind it."};
  if (touches_well(touch, v)) return {};
  return {std::move(v)};
}

bool Session::is_node_memory(Address address) {
  const Locked lock(mutex_);
  return history_.causes.node_memory(address).has_value();
}

void Session::explain_node(const char* function, const Touch* touches, std::size_t count,
                           CUresult result, const Caller& caller) noexcept {
  const int entry_errno = errno;
  try {
    Violations found;
    for (std::size_t i = 0; i < count; ++i) {
      // Memory of the graph's own nodes does not exist yet.
      if (!is_node_memory(touches[i].base)) found.append(explain_refusal(&touches[i], 1));
    }
    for (Violation& v : found) v.message.insert(0, std::string(function) + ": ");
    if (!found.empty())
      report_wrong({}, {.result = result}, std::move(found), next_number(), caller);
  } catch (...) {
    turn_off();
  }
  errno = entry_errno;
}

Violations Session::explain_graph(CUgraph graph) {
  if (!work_.judges_graphs()) return {};
  const RelaxedCapture relaxed(work_.questions(), work_.captures());
  const Everywhere everywhere;
  for (const NodeUses& node : work_.node_reader(everywhere).graph(graph)) {
    if (node.function) continue;  // cuvmm does not know how a kernel uses its arguments
    for (const UsedRange& range : node.ranges) {
      Touch touch;
      touch.base = range.base;
      touch.width = range.size;
      touch.parameter = "a node of the graph";
      Violations found = explain_refusal(&touch, 1);
      if (!found.empty()) return found;
    }
  }
  return {};
}

Violations Session::explain_stream(CUstream stream) {
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  const Locked lock(mutex_);
  const auto ended = history_.model.tombstones().find(ObjectRef::Kind::kStream, handle);
  if (!ended) return {};
  Violation v{Rule::kStreamAlive, false, "stream " + hex_text(handle) + " was destroyed", {*ended}};
  return {std::move(v)};
}

namespace {

// The ranges of host memory in a call that this process cannot read.
std::vector<Touch> unreadable_ranges(const Call& call) {
  std::vector<Touch> all;
  visit_call<int>(call, [&]<class CallStruct>(const CallStruct& made) {
    each_host_touch(made, [&](const Touch& touch) {
      if (FactFinder::unreadable(touch.base)) all.push_back(touch);
    });
    return 0;
  });
  return all;
}

}  // namespace

Violations Session::explain_crash(const Call& call) {
  constexpr std::chrono::milliseconds kPatience{200};
  const std::vector<Touch> ranges = unreadable_ranges(call);
  const auto found = with_model_within(kPatience, [&](const Model& model) {
    Violations on_host;
    for (std::size_t i = 0; i < ranges.size() && on_host.empty(); ++i)
      on_host = ended_on_host(model, ranges[i]);
    return on_host;
  });
  if (!found || found->empty()) return {};
  Violations named = *found;
  if (mutex_.lock_within(kPatience)) {
    const Locked lock(mutex_, kHeldAlready);
    name_context_end(history_.causes, named);
  }
  return named;
}

Violations Session::lost_host_memory(const Call& call, CUstream stream) {
  // The program may map the pages of a captured copy before the graph is launched.
  if (work_.may_be_captured(stream)) return {};
  for (const Touch& touch : unreadable_ranges(call)) {
    Violations found = with_model([&](const Model& model) { return ended_on_host(model, touch); });
    if (found.empty()) continue;
    // A device may have other memory by now where memory of the host has ended.
    const bool ended = found.front().objects.front().ended.call != 0;
    if (ended && facts_.holds_memory(touch.base)) continue;
    for (Violation& v : found) v.certain = true;
    const Locked lock(mutex_);
    name_context_end(history_.causes, found);
    return found;
  }
  return {};
}

void Session::report_crash_at(Address address, std::string (*name)()) noexcept {
  try {
    constexpr std::chrono::milliseconds kPatience{200};
    if (mutex_.held_here() || !FactFinder::unreadable(address)) return;
    Touch touch;
    touch.base = address;
    touch.width = 1;
    touch.parameter = "the address that the driver died of";
    Violations found;
    {
      if (!mutex_.lock_within(kPatience)) return;
      const Locked lock(mutex_, kHeldAlready);
      found = ended_on_host(history_.model, touch);
      name_context_end(history_.causes, found);
    }
    if (found.empty()) return;
    const std::string function = name();
    if (function.empty()) return;
    for (Violation& v : found) v.message.insert(0, function + ": ");
    report({}, std::move(found), {.crashed = true}, next_number(), 0);
  } catch (...) {
    turn_off();
  }
}

namespace {

// A fact about an object, and the object.
using Fact = std::optional<std::pair<std::string, ObjectRef>>;

Fact ended_array(const Model& model, std::uint64_t array) {
  if (model.arrays().find(array)) return {};
  const auto ended = model.tombstones().find(ObjectRef::Kind::kArray, array);
  if (!ended) return {};
  return std::pair("array " + hex_text(array) + " was destroyed, or its context was", *ended);
}

Fact ended_host_memory(const Model& model, std::uint64_t address) {
  if (model.memory().at(address) || model.mapping_at(address)) return {};
  const auto ended = model.tombstones().find_covering(ObjectRef::Kind::kMemory, address);
  if (!ended) return {};
  return std::pair(hex_text(address) + " is in memory that has ended", *ended);
}

// Memory that no node of a graph allocated. An address that the model does not know may be such a
// node's, because the model learns of that memory at a launch.
Fact memory_of_no_node(const Model& model, std::uint64_t address) {
  const auto pool = model.pools().memory().find(address);
  if (const PlainMemory* const plain = model.memory().at(address)) {
    return std::pair(hex_text(address) + " is " + words(plain->kind), cuvmm::detail::ref(*plain));
  }
  if (pool != model.pools().memory().end()) {
    return std::pair(hex_text(address) + " is memory of a pool, allocated outside of graphs",
                     cuvmm::detail::ref(pool->second));
  }
  if (const Mapping* const mapping = model.mapping_at(address)) {
    return std::pair(hex_text(address) + " is memory of cuMemMap", cuvmm::detail::ref(*mapping));
  }
  return {};
}

}  // namespace

void Session::explain_named(const char* function, Rule rule, std::uint64_t value, CUresult result,
                            const Caller& caller) noexcept {
  const int entry_errno = errno;
  try {
    Fact fact;
    {
      const Locked lock(mutex_);
      const Model& model = history_.model;
      if (rule == Rule::kArrayAlive) fact = ended_array(model, value);
      if (rule == Rule::kHostMemoryAlive) fact = ended_host_memory(model, value);
      if (rule == Rule::kGraphFreeKnown && !history_.causes.node_memory(value))
        fact = memory_of_no_node(model, value);
    }
    if (fact) {
      Violations found;
      found.push_back({rule, false, std::string(function) + ": " + fact->first, {fact->second}});
      {
        const Locked lock(mutex_);
        name_context_end(history_.causes, found);
      }
      report_wrong({}, {.result = result}, std::move(found), next_number(), caller);
    }
  } catch (...) {
    turn_off();
  }
  errno = entry_errno;
}

}  // namespace cuvmm::shim
