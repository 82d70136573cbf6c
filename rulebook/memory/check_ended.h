// SPDX-License-Identifier: Apache-2.0
// Objects that are no memory, and that a call names after their end: streams, events, contexts,
// code, graphs. Who keeps them says which have ended.
#pragma once

#include <span>

#include "rulebook/base/violation.h"

namespace cuvmm {

struct EndedObject {
  ObjectRef object;
  const char* parameter = "";  ///< "hStream", "hEvent", ...
  bool with_context = false;   ///< it was not destroyed itself: its context ended
};

/// One violation for each. Never certain: a driver gives handles out again, maybe unseen.
Violations check_ended_objects(std::span<const EndedObject> named);

}  // namespace cuvmm
