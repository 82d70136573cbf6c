// SPDX-License-Identifier: Apache-2.0
// Objects other than memory that a call names after their end (streams, events, contexts, code,
// graphs), events that a call records on streams of another context, and arguments by which a
// driver dies: a graph as its own child, no resources, arrays and external semaphores that are
// NULL. The caller keeps track of these objects and says which have ended.
#pragma once

#include <cstddef>
#include <span>

#include "rulebook/base/violation.h"

namespace cuvmm {

struct EndedObject {
  ObjectRef object;
  const char* parameter = "";  ///< "hStream", "hEvent", ...
  bool with_context = false;   ///< its context ended; no call destroyed the object itself
};

/// One violation for each. Never certain, because a driver may have reused the handle, maybe
/// unseen.
Violations check_ended_objects(std::span<const EndedObject> named);

/// A record of an event on a stream. Contexts are handles, 0 unknown; devices are ordinals, -1
/// unknown.
struct EventRecorded {
  ObjectRef event;
  std::uint64_t event_context = 0, stream_context = 0;
  int event_device = -1, stream_device = -1;
};
/// The violation of a record on a stream of another context than the event's. Never certain,
/// because the driver may have given the event's handle out again, maybe unseen.
Violations check_event_context(const EventRecorded& one);

/// The violation of a call that adds the graph to itself as a child.
Violations check_own_child(std::uint64_t graph);

/// The violation of a call that describes no resources.
Violations check_no_resources();

/// The violation of a call with a count and without its array. "" for a name without a count.
Violations check_announced(const char* missing, const char* count_name, std::size_t count);

/// The violation of a launch of a graph with a node whose external semaphore is NULL.
Violations check_null_semaphore(std::uint64_t executable);

/// The violation of a call that instantiates a graph with a kernel node whose function has ended
/// (kGraphCodeLoaded), or updates an executable graph to it (kUpdateCodeLoaded).
Violations check_graph_code(Rule rule, std::uint64_t graph, const EndedObject& function);

}  // namespace cuvmm
