// SPDX-License-Identifier: Apache-2.0
#include "rulebook/memory/check_ended.h"

#include "rulebook/check/check_support.h"

namespace cuvmm {
using namespace detail;

namespace {

using Kind = ObjectRef::Kind;

struct AliveRule {
  Kind kind;
  Rule rule;
  const char* end;  ///< how the object ended
};
constexpr AliveRule kRules[] = {
    {Kind::kStream, Rule::kStreamAlive, "was destroyed"},
    {Kind::kEvent, Rule::kEventAlive, "was destroyed"},
    {Kind::kContext, Rule::kContextAlive, "was destroyed"},
    {Kind::kGreenContext, Rule::kContextAlive, "was destroyed"},
    {Kind::kModule, Rule::kCodeAlive, "was unloaded"},
    {Kind::kLibrary, Rule::kCodeAlive, "was unloaded"},
    {Kind::kFunction, Rule::kCodeAlive, "is of a module or a library that was unloaded"},
    {Kind::kGraph, Rule::kGraphAlive, "was destroyed"},
    {Kind::kNode, Rule::kGraphAlive, "was destroyed, or its graph was"},
    {Kind::kExecutableGraph, Rule::kGraphAlive, "was destroyed"},
    {Kind::kArray, Rule::kArrayAlive, "was destroyed"},
};

}  // namespace

Violations check_ended_objects(std::span<const EndedObject> named) {
  Collector out;
  for (const EndedObject& one : named) {
    for (const AliveRule& alive : kRules) {
      if (alive.kind != one.object.kind) continue;
      Violation& v = out.add(alive.rule,
                             std::string(one.parameter) + ": " + name(one.object.kind) + " " +
                                 hex_text(one.object.value) + " " +
                                 (one.with_context ? "ended with its context" : alive.end),
                             false);
      v.objects.push_back(one.object);
      if (one.with_context) v.fix = kFixOfContextEnd;
    }
  }
  return out.take();
}

Violations check_event_context(const EventRecorded& one) {
  if (one.event_context == 0 || one.stream_context == 0 || one.event_context == one.stream_context)
    return {};
  const auto context = [](std::uint64_t handle, int device) {
    return "context " + hex_text(handle) +
           (device < 0 ? "" : " of device " + std::to_string(device));
  };
  Collector out;
  out.add(Rule::kEventContext,
          "hEvent: event " + hex_text(one.event.value) + " was made in " +
              context(one.event_context, one.event_device) + ", and hStream is one of " +
              context(one.stream_context, one.stream_device),
          false)
      .objects.push_back(one.event);
  return out.take();
}

Violations check_own_child(std::uint64_t graph) {
  Collector out;
  out.add(Rule::kGraphNotOwnChild, "childGraph is the graph " + hex_text(graph) +
                                       " itself, to which the call adds the node");
  return out.take();
}

Violations check_no_resources() {
  Collector out;
  out.add(Rule::kResourcesNotNone, "nbResources is 0");
  return out.take();
}

Violations check_announced(const char* missing, const char* count_name, std::size_t count) {
  Collector out;
  std::string text = std::string(missing) + " is NULL";
  if (*count_name) text += std::string(", and ") + count_name + " is " + std::to_string(count);
  out.add(Rule::kAnnouncedArray, std::move(text));
  return out.take();
}

Violations check_null_semaphore(std::uint64_t executable) {
  Collector out;
  out.add(Rule::kLaunchSemaphoreNonnull, "hGraphExec: a node of executable graph " +
                                             hex_text(executable) +
                                             " names NULL as an external semaphore");
  return out.take();
}

Violations check_graph_code(Rule rule, std::uint64_t graph, const EndedObject& function) {
  Collector out;
  out.add(rule, "hGraph: a kernel node of graph " + hex_text(graph) + " runs function " +
                    hex_text(function.object.value) +
                    ", which is of a module or a library that was unloaded")
      .objects.push_back(function.object);
  return out.take();
}

}  // namespace cuvmm
