// SPDX-License-Identifier: Apache-2.0
// Calls of virtual memory that the profile's driver refuses although no rule is broken, and calls
// that it accepts although a rule is (rulebook/profile/quirk.h).
#include <algorithm>

#include "api/location.h"
#include "emulator/core/quirks.h"
#include "emulator/core/record.h"
#include "emulator/vmm/vmm_entry.h"

namespace cuvmm::emulator {

namespace {

// Observed with 1, 3, 5, 7, 127, 129 and 255, and not with 2, 4, 64, 128 and 254.
bool tile_pool(const CUmemAllocationProp& prop) {
  return prop.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL;
}

}  // namespace

std::optional<CUresult> quirk(const Emulator& e, const calls::MemCreate& call, const Facts&) {
  if (!call.prop) return std::nullopt;
  const CUmemAllocationProp& prop = *call.prop;
  constexpr int kMemoryOnHost = 145, kMemoryOnNode = 141;  // CUdevice_attribute, CUDA 12.2 and 12.9
  const int place = static_cast<int>(prop.location.type);
  if ((place == kLocationHost && lacks(e, kMemoryOnHost)) ||
      ((place == kLocationHostNuma || place == kLocationHostNumaCurrent) &&
       lacks(e, kMemoryOnNode))) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const auto types = static_cast<unsigned>(prop.requestedHandleTypes);
  if (const auto odd =
          answer(e, Quirk::kExportableBelow4G,
                 (types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0 && call.size >> 32 != 0)) {
    return odd;
  }
  if (!is_device(prop.location) || !e.valid_device(device_of(prop.location))) return std::nullopt;
  const std::uint64_t total = e.devices.total(device_of(prop.location));
  // Larger sizes get the answer of any other size: 2^45 - 2 MiB was INVALID_VALUE, 2^45
  // OUT_OF_MEMORY.
  constexpr std::uint64_t kAbsurd = std::uint64_t{1} << 45;
  return answer(e, Quirk::kTilePoolSize,
                tile_pool(prop) && call.size > total && call.size < kAbsurd);
}

std::optional<CUresult> quirk(const Emulator& e, const calls::MemGetHandleForAddressRange& call,
                              const Facts& facts) {
  if (lacks(e, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED)) return CUDA_ERROR_NOT_SUPPORTED;
  const Size page = e.profile.platform.host_page;
  // The driver refuses impossible ranges before it looks for a context.
  const bool possible = call.dptr != 0 && call.size - 1 <= UINT64_MAX - call.dptr;
  const bool looks = call.handle && call.flags <= 1 && call.size != 0 && possible &&
                     call.dptr % page == 0 && call.size % page == 0;
  return answer(e, Quirk::kRangeContext, looks && facts.place.context == Facts::Answer::kNo);
}

void forgive(const Emulator& e, const calls::MemGetHandleForAddressRange& call,
             Violations& violations) {
  if (!e.profile.has(Quirk::kRangeMixed)) return;
  const Allocation* first = nullptr;
  bool one_device = true;
  for (auto at = e.model.first_mapping_after(call.dptr);
       at != e.model.mappings().end() &&
       (at->first < call.dptr || at->first - call.dptr < call.size);
       ++at) {
    const Allocation* a = e.model.allocation(at->second.handle);
    if (!first) first = a;
    one_device = one_device && a && same_place(a->prop.location, first->prop.location);
  }
  if (!one_device) return;
  violations.erase_if([](const Violation& v) { return v.rule == Rule::kRangeOneDevice; });
}

namespace {

// Gives access as a call with these arguments would.
void grant(Emulator& e, Address base, Size size, const CUmemAccessDesc* desc, std::size_t count) {
  const calls::MemSetAccess call{base, size, desc, count};
  if (count != 0 && size != 0 && perform(e, call, {}, {}) == CUDA_SUCCESS) {
    record_in_model(e, call, {});
  }
}

// The number of bytes of a range before its first hole.
Size before_hole(const Emulator& e, Address base, Size size) {
  Size covered = 0;
  while (covered < size) {
    const Mapping* mapping = e.model.mapping_at(base + covered);
    if (!mapping) break;
    covered = mapping->base + mapping->size - base;
  }
  return std::min(covered, size);
}

}  // namespace

Size affected(const Emulator& e, const calls::MemSetAccess& call) {
  return e.profile.has(Quirk::kAccessToHole) ? before_hole(e, call.ptr, call.size) : call.size;
}

void write_refused(Emulator& e, const calls::MemSetAccess& call, CUresult refused) {
  if (refused != CUDA_ERROR_NOT_SUPPORTED || !call.desc || !e.profile.has(Quirk::kAccessPartial)) {
    return;
  }
  const auto* end = call.desc + call.count;
  const auto* bad = std::find_if(call.desc, end, [](const CUmemAccessDesc& desc) {
    return !is_device(desc.location) && static_cast<int>(desc.flags) != 0;
  });
  if (bad == end) return;
  for (Address at = call.ptr; at - call.ptr < call.size;) {
    const Mapping* mapping = e.model.mapping_at(at);
    const Allocation* a = mapping ? e.model.allocation(mapping->handle) : nullptr;
    const bool team = mapping && e.model.multicast(mapping->handle);
    if (!a && !team) return;
    const bool last = team || is_device(a->prop.location);
    const Address next = mapping->base + mapping->size;
    grant(e, mapping->base, mapping->size, call.desc,
          last ? static_cast<std::size_t>(bad - call.desc) : call.count);
    if (last) return;
    at = next;
  }
}

void record(Emulator& e, const calls::MemSetAccess& call, const Facts&) {
  calls::MemSetAccess done = call;
  done.size = affected(e, call);
  record_in_model(e, done, {});
}

}  // namespace cuvmm::emulator
