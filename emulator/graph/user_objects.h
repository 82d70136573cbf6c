// SPDX-License-Identifier: Apache-2.0
// Destructors of user objects, which run without the emulator's lock.
#pragma once

#include <utility>
#include <vector>

#include "emulator/core/locked.h"

namespace cuvmm::emulator {

/// As locked(), for a call that may end user objects: runs their destructors behind it. A driver
/// calls them from a thread of its own, soon after.
template <class Body>
CUresult ending_objects(Body&& body) noexcept {
  std::vector<UserObject> ended;
  const CUresult result = locked([&](Emulator& e) -> CUresult {
    const CUresult answer = body(e);
    ended = e.graphs.take_ended();
    return answer;
  });
  for (const UserObject& object : ended) object.destroy(object.data);
  return result;
}

}  // namespace cuvmm::emulator
