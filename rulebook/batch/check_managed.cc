// SPDX-License-Identifier: Apache-2.0
// Prefetching, advising, discarding and attaching, which all work on managed memory and memory of
// the system only.
#include <algorithm>

#include "api/default_stream.h"
#include "api/location.h"
#include "rulebook/batch/check_operations.h"

namespace cuvmm {
using namespace detail;

namespace {

// The location of a device number of the first ABI; -1 is the CPU.
CUmemLocation location_of(CUdevice device) {
  return device == CU_DEVICE_CPU ? make_location(kLocationHost, 0)
                                 : make_location(kLocationDevice, device);
}

enum class Wanted { kPlace, kAccessor };

void check_location(Collector& out, const Model& model, const std::string& where,
                    const CUmemLocation& location, Wanted wanted = Wanted::kPlace) {
  const int type = static_cast<int>(location.type);
  if (type == kLocationDevice) {
    const int count = model.platform().device_count;
    if (location.id >= 0 && (count < 0 || location.id < count)) return;
    out.add(Rule::kManagedDevice,
            where + ": there is no device " + std::to_string(static_cast<int>(location.id)));
    return;
  }
  const int last = wanted == Wanted::kPlace ? kLocationHostNumaCurrent : kLocationHost;
  if (type >= kLocationHost && type <= last) return;
  out.add(Rule::kManagedLocation, where + " has the type " + std::to_string(type));
}

// Reports memory that is certainly of another kind.
void check_memory(Collector& out, const Model& model, const std::string& where, Address base,
                  Size size) {
  const Reservation* r = model.reservation_at(base);
  const Mapping* mapped = model.mapping_at(base);
  if (r || mapped) {
    Violation& v =
        out.add(Rule::kManagedOnly, where + ": " + hex_text(base) + " is in a reservation");
    attach_history(v, model, base);
    return;
  }
  if (const PlainMemory* plain = model.memory().at(base)) {
    // The program's own memory stays memory of the system while its pages are locked.
    using Kind = PlainMemory::Kind;
    if (plain->kind == Kind::kManaged || plain->kind == Kind::kRegistered) return;
    out.add(Rule::kManagedOnly, where + ": " + hex_text(base) + " is " + words(plain->kind))
        .objects.push_back(ref(*plain));
    return;
  }
  const PoolMemory* m = model.pools().memory_at(base);
  const Pool* pool = m ? model.pools().find(m->pool) : nullptr;
  // Only for a pool that is known not to be managed.
  if (!pool || pool->managed || pool->imported || static_cast<int>(pool->location.type) == 0)
    return;
  Violation& v =
      out.add(Rule::kManagedOnly, where + ": " + range(base, size) + " is memory of a pool on " +
                                      location(pool->location) + " that is not managed");
  v.objects.push_back(ref(*m));
  v.objects.push_back(ref(*pool));
}

void check_range(Collector& out, const Model& model, const char* parameter, Address base,
                 Size size) {
  if (base == 0 || size == 0) {
    out.add(Rule::kManagedSize, base == 0 ? std::string(parameter) + " is 0" : "the size is 0");
    return;
  }
  check_memory(out, model, parameter, base, size);
}

template <class Batch>
Violations check_batch(const Model& model, const Batch& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_batch_stream(out, call.hStream, facts);
  check_batch_flags(out, call.flags);
  if (!call.dptrs || !call.sizes || call.count == 0) {
    out.add(Rule::kCopyArrays, call.count == 0 ? "count is 0"
                               : !call.dptrs   ? "dptrs is NULL"
                                               : "sizes is NULL");
    return out.take();
  }
  if constexpr (requires { call.prefetchLocs; }) {
    check_indices(out, "prefetchLocIdxs", call.prefetchLocs, call.prefetchLocIdxs,
                  call.numPrefetchLocs, call.count);
    if (call.prefetchLocs && call.numPrefetchLocs <= call.count) {
      for (std::size_t i = 0; i < call.numPrefetchLocs && out.size() < kMostFound; ++i) {
        check_location(out, model, "prefetchLocs[" + std::to_string(i) + "]", call.prefetchLocs[i]);
      }
    }
  }
  for (std::size_t i = 0; i < call.count && out.size() < kMostFound; ++i) {
    const std::string where = "dptrs[" + std::to_string(i) + "]";
    check_range(out, model, where.c_str(), call.dptrs[i], call.sizes[i]);
  }
  return out.take();
}

Violations check_prefetch(const Model& model, Address base, Size size,
                          const CUmemLocation& location, unsigned flags, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (flags != 0) out.add(Rule::kManagedFlags, "flags is " + hex_text(flags) + ", not 0");
  // An H200 looks for an empty range first, for the location next, and at the memory last.
  const bool empty = base == 0 || size == 0;
  if (empty) check_range(out, model, "devPtr", base, size);
  check_location(out, model, "location", location);
  if (!empty) check_range(out, model, "devPtr", base, size);
  return out.take();
}

// Three kinds of advice ignore the location; it is not known whether other kinds do.
Violations check_advice(const Model& model, Address base, Size size, int advice,
                        const CUmemLocation& location, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_range(out, model, "devPtr", base, size);
  if (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION) {
    check_location(out, model, "location", location);
  } else if (advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
    check_location(out, model, "location", location, Wanted::kAccessor);
  }
  return out.take();
}

}  // namespace

Violations check(const Model& model, const calls::MemPrefetchAsync& call, const Facts& facts) {
  return check_prefetch(model, call.devPtr, call.count, location_of(call.dstDevice), 0, facts);
}
Violations check(const Model& model, const calls::MemPrefetchAsync_v2& call, const Facts& facts) {
  return check_prefetch(model, call.devPtr, call.count, call.location, call.flags, facts);
}
Violations check(const Model& model, const calls::MemAdvise& call, const Facts& facts) {
  return check_advice(model, call.devPtr, call.count, static_cast<int>(call.advice),
                      location_of(call.device), facts);
}
Violations check(const Model& model, const calls::MemAdvise_v2& call, const Facts& facts) {
  return check_advice(model, call.devPtr, call.count, static_cast<int>(call.advice), call.location,
                      facts);
}
Violations check(const Model& model, const calls::MemPrefetchBatchAsync& call, const Facts& facts) {
  return check_batch(model, call, facts);
}
Violations check(const Model& model, const calls::MemDiscardBatchAsync& call, const Facts& facts) {
  return check_batch(model, call, facts);
}
Violations check(const Model& model, const calls::MemDiscardAndPrefetchBatchAsync& call,
                 const Facts& facts) {
  return check_batch(model, call, facts);
}

Violations check(const Model& model, const calls::StreamAttachMemAsync& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (call.flags != CU_MEM_ATTACH_GLOBAL && call.flags != CU_MEM_ATTACH_HOST &&
      call.flags != CU_MEM_ATTACH_SINGLE) {
    out.add(Rule::kAttachFlags,
            "flags is " + hex_text(call.flags) + ", not GLOBAL (1), HOST (2) or SINGLE (4)");
  }
  if (call.flags == CU_MEM_ATTACH_SINGLE &&
      is_legacy_stream(call.hStream, facts.place.per_thread)) {
    out.add(Rule::kAttachStream, "SINGLE, and the stream is the legacy default stream");
  }
  check_memory(out, model, "dptr", call.dptr, call.length);
  return out.take();
}

}  // namespace cuvmm
