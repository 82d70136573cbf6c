// SPDX-License-Identifier: Apache-2.0
#include "shim/fail/left.h"

#include <chrono>

namespace cuvmm::shim {

namespace {
constexpr std::chrono::milliseconds kPatienceForModel{5000};
}  // namespace

std::vector<ObjectRef> objects_left(Session& session) {
  std::vector<ObjectRef> left;
  const auto add = [&](ObjectRef::Kind kind, std::uint64_t value, std::uint64_t size,
                       const Origin& made) {
    // What was there before the first call that was seen is nobody's.
    if (made.call != 0) left.push_back({kind, value, size, made, {}});
  };
  session.with_model_within(kPatienceForModel, [&](const Model& model) {
    for (const auto& [handle, a] : model.allocations()) {
      if (a.references != 0) add(ObjectRef::Kind::kAllocation, handle, a.size, a.made);
    }
    for (const auto& [base, r] : model.reservations()) {
      add(ObjectRef::Kind::kReservation, base, r.size, r.made);
    }
    for (const auto& [base, m] : model.mappings()) {
      add(ObjectRef::Kind::kMapping, base, m.size, m.made);
    }
    for (const auto& [fd, e] : model.exports()) {
      if (session.still_exported(e)) {
        add(ObjectRef::Kind::kExport, static_cast<std::uint64_t>(fd), e.size, e.made);
      }
    }
    for (const auto& [base, m] : model.memory().all()) {
      add(ObjectRef::Kind::kMemory, base, m.size, m.made);
    }
    return true;
  });
  return left;
}

}  // namespace cuvmm::shim
