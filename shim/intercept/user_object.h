// SPDX-License-Identifier: Apache-2.0
// User objects: the calls that take and give up references to them.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "shim/objects/object_table.h"

namespace cuvmm::shim {

/// Parameters that have a type of their own, because the calls that take and give up references
/// have the same parameters. Each is passed as the pointer that it holds.
using RetainedObject = const struct RetainedUserObject*;
using ReleasedObject = const struct ReleasedUserObject*;

// The driver accepted the call. A reference that a graph owns ends with the graph.
inline void note_node(RetainedObject object, unsigned count) {
  object_table().refer(reinterpret_cast<std::uintptr_t>(object), count);
}
inline void note_node(ReleasedObject object, unsigned count) {
  object_table().refer(reinterpret_cast<std::uintptr_t>(object), -std::int64_t{count});
}
inline void note_node(CUgraph, CUuserObject object, unsigned count, unsigned flags) {
  if (flags & CU_GRAPH_USER_OBJECT_MOVE)
    object_table().refer(reinterpret_cast<std::uintptr_t>(object), -std::int64_t{count});
}

/// PlainObject::flags of a new user object: the references that the program owns.
inline unsigned flags_of_new(CUuserObject*, void*, CUhostFn, unsigned count, unsigned) {
  return count;
}

}  // namespace cuvmm::shim
