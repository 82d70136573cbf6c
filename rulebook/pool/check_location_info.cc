// SPDX-License-Identifier: Apache-2.0
// Where the pieces of a range lie.
#include "rulebook/check/check_support.h"

namespace cuvmm {
using namespace detail;

namespace {

// A name for known memory that is neither managed nor plain memory of the host.
const char* other_memory(const Model& model, std::uint64_t address) {
  if (model.mapping_at(address)) return "mapped by cuMemMap";
  if (model.reservation_at(address)) return "reserved by cuMemAddressReserve";
  const PoolMemory* memory = model.pools().memory_at(address);
  const bool pinned = memory && !memory->managed && static_cast<int>(memory->location.type) != 0;
  return pinned ? "memory of a pool that is not managed" : nullptr;
}

}  // namespace

Violations check(const Model& model, const calls::MemGetLocationInfo& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const Platform& platform = model.platform();
  if (platform.managed_known && !platform.managed) {
    out.add(Rule::kWhereSupported, "a device cannot use managed memory while the host does");
  }
  if (!call.location_out) out.add(Rule::kWhereOut, "location_out is NULL");
  if (call.summaryGranularity == 0 || call.summaryGranularity > call.size) {
    out.add(Rule::kWhereSummary, "summaryGranularity is " + size_text(call.summaryGranularity) +
                                     ", and size is " + size_text(call.size));
  }
  if (call.samplingGranularity > call.summaryGranularity) {
    out.add(Rule::kWhereSampling, "samplingGranularity is " + size_text(call.samplingGranularity) +
                                      ", and summaryGranularity is " +
                                      size_text(call.summaryGranularity));
  }
  if (const char* what = other_memory(model, call.ptr)) {
    attach_history(out.add(Rule::kWhereManaged, hex_text(call.ptr) + " is " + what), model,
                   call.ptr);
  } else if (call.ptr == 0) {
    out.add(Rule::kWhereManaged, "ptr is 0");
  }
  return out.take();
}

}  // namespace cuvmm
