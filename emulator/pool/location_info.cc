// SPDX-License-Identifier: Apache-2.0
// cuMemGetLocationInfo: where the pieces of managed or system memory lie. The answers are the
// documented ones; none was measured. All memory is the host's here: prefetched memory counts as
// lying at its prefetch's location, and other memory on the host, if a page of it was touched.
#include <sys/mman.h>

#include <algorithm>

#include "api/location.h"
#include "emulator/core/emulator.h"
#include "emulator/memory/managed_entry.h"
#include "emulator/pool/pool_entry.h"

namespace cuvmm::emulator {

namespace {

enum class Residence { kNowhere, kHost, kUnmapped };

// Where a piece of this process's memory lies.
Residence residence(Address base, Size size) {
  constexpr Size kPages = 256;  // pages in one call
  unsigned char pages[kPages];
  bool touched = false;
  for (Size done = base % kPage; size != 0;) {
    const Size length = std::min(size, kPages * kPage - done);
    if (mincore(reinterpret_cast<void*>(base - done), length + done, pages) != 0) {
      return Residence::kUnmapped;
    }
    const Size count = (length + done + kPage - 1) / kPage;
    touched |= std::any_of(pages, pages + count, [](unsigned char page) { return page & 1; });
    base += length;
    size -= length;
    done = 0;
  }
  return touched ? Residence::kHost : Residence::kNowhere;
}

// Whether memory belongs to the system: CUDA neither made nor registered it.
bool is_system(const Emulator& e, Address base, Size size) {
  return !e.plain.at(base) && !e.host.at(base) && !e.space.owns(base, 1) &&
         size - 1 <= UINT64_MAX - base;
}

}  // namespace

CUresult perform(Emulator& e, const calls::MemGetLocationInfo& call, const Facts&, const Retired&) {
  const Size step = call.summaryGranularity;
  if (!call.location_out || step == 0 || call.size == 0) return CUDA_ERROR_INVALID_VALUE;
  const ManagedAdvice* managed = managed_at(e, call.ptr, call.size);
  if (!managed && !is_system(e, call.ptr, call.size)) return CUDA_ERROR_INVALID_VALUE;
  const Size pieces = (call.size - 1) / step + 1;
  if (!managed && residence(call.ptr, call.size) == Residence::kUnmapped) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (Size i = 0; i < pieces; ++i) {
    const Address base = call.ptr + i * step;
    if (managed && managed->prefetched.type != kLocationNone) {
      call.location_out[i] = make_location(managed->prefetched.type, managed->prefetched.id);
      continue;
    }
    const bool there = residence(base, std::min(step, call.size - i * step)) == Residence::kHost;
    call.location_out[i] = make_location(there ? kLocationHost : kLocationNone, 0);
  }
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
