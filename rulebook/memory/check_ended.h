// SPDX-License-Identifier: Apache-2.0
// Objects other than memory that a call names after their end (streams, events, contexts, code,
// graphs), and graphs that a call adds to themselves. The caller keeps track of these objects and
// says which have ended.
#pragma once

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

/// The violation of a call that adds the graph to itself as a child.
Violations check_own_child(std::uint64_t graph);

}  // namespace cuvmm
