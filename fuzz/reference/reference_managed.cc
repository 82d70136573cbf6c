// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of calls about managed memory, on programs that have none:
// rulebook/rules/managed.def and location_info.def.
#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

void Reference::judge_managed(Judgement& out, std::uint64_t base, std::uint64_t size) const {
  if (base == 0 || size == 0) {
    out.add(Rule::kManagedSize);
    out.loose = true;  // no document says the result
    return;
  }
  const PlainMemory* plain = plain_.at(base);
  if (!cell_at(base) && !plain) {
    // The address is of system memory, of the driver, or of nothing.
    out.loose = out.fatal = true;
    return;
  }
  out.add(Rule::kManagedOnly);
  if (!plain) return;
  if (size > plain->size - (base - plain->base)) out.add(Rule::kDataInside);
  // For memory of calls other than cuMemAlloc, a shim need not know that it is not managed.
  out.unseen = plain->kind != PlainMemory::Kind::kAlloc;
}

void Reference::judge_managed_place(Judgement& out, const CUmemLocation& place,
                                    int last_type) const {
  const int type = static_cast<int>(place.type);
  if (type == 1) {
    if (!valid_device(place.id)) out.add(Rule::kManagedDevice);
  } else if (type < 1 || type > last_type) {
    out.add(Rule::kManagedLocation);
  }
}

Judgement Reference::judge(const calls::MemPrefetchAsync_v2& call, Actor actor) const {
  Judgement out;
  judge_managed(out, call.devPtr, call.count);
  if (call.flags) out.add(Rule::kManagedFlags);
  judge_managed_place(out, call.location, 4);  // the host, its nodes, and the nearest of them
  if (actor.device < 0) {
    out.loose = true;
    out.add(Quirk::kManagedContext);
  }
  return out;
}

Judgement Reference::judge(const calls::MemAdvise_v2& call, Actor actor) const {
  Judgement out;
  const int advice = static_cast<int>(call.advice), type = static_cast<int>(call.location.type);
  if (actor.device < 0) {
    out.loose = true;  // no rule says whether it needs a context
    out.add(Quirk::kManagedContext);
  }
  if ((type == 3 || type == 4) && advice >= 1 && advice <= 4) out.add(Quirk::kAdviceOfNode);
  judge_managed(out, call.devPtr, call.count);
  if (advice == 3) judge_managed_place(out, call.location, 4);
  // Advice about the accessing place: a device or the host.
  if (advice == 5 || advice == 6) judge_managed_place(out, call.location, 2);
  if (advice < 1 || advice > 6) out.loose = true;
  return out;
}

Judgement Reference::judge(const calls::MemGetLocationInfo& call, Actor) const {
  Judgement out;
  if (!call.location_out) out.add(Rule::kWhereOut);
  if (call.summaryGranularity == 0 || call.summaryGranularity > call.size) {
    out.add(Rule::kWhereSummary);
  }
  if (call.samplingGranularity > call.summaryGranularity) out.add(Rule::kWhereSampling);
  const PlainMemory* plain = plain_.at(call.ptr);
  if (call.ptr == 0 || cell_at(call.ptr) || plain) {
    out.add(Rule::kWhereManaged);
    out.unseen = plain != nullptr;
  } else {
    out.loose = out.fatal = true;
  }
  return out;
}

}  // namespace cuvmm::fuzz
