// SPDX-License-Identifier: Apache-2.0
// Objects other than memory that a call names after their end: streams, events, contexts, code,
// graphs. The caller keeps track of these objects and says which have ended.
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

}  // namespace cuvmm
