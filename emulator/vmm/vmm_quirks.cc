// SPDX-License-Identifier: Apache-2.0
// What the profile's driver refuses though no rule is broken, and what it lets pass
// (rulebook/profile/quirk.h).
#include <algorithm>

#include "emulator/entry/entry.h"
#include "rulebook/data/touch.h"

namespace cuvmm::emulator {

namespace {

// Seen with 1, 3, 5, 7, 127, 129 and 255, and not with 2, 4, 64, 128 and 254.
bool tile_pool(const CUmemAllocationProp& prop) {
  return prop.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL;
}

std::optional<CUresult> code(const Emulator& e, Quirk quirk, bool holds) {
  if (!holds || !e.profile.has(quirk)) return std::nullopt;
  return info(quirk).code;
}

}  // namespace

std::optional<CUresult> quirk(const Emulator& e, const calls::MemCreate& call, const Facts&) {
  if (!call.prop) return std::nullopt;
  const CUmemAllocationProp& prop = *call.prop;
  if (prop.location.type != CU_MEM_LOCATION_TYPE_DEVICE || !e.valid_device(prop.location.id))
    return std::nullopt;
  const std::uint64_t total = e.devices[static_cast<std::size_t>(prop.location.id)].total;
  // From here on the size is refused as any other is: 2^45 - 2 MiB was INVALID_VALUE, 2^45
  // OUT_OF_MEMORY.
  constexpr std::uint64_t kAbsurd = std::uint64_t{1} << 45;
  return code(e, Quirk::kTilePoolSize, tile_pool(prop) && call.size > total && call.size < kAbsurd);
}

std::optional<CUresult> quirk(const Emulator& e, const CUmemAllocationProp& external) {
  const Context* context = e.current_context();
  const bool elsewhere = context && external.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                         external.location.id != context->device;
  return code(e, Quirk::kExtCompressedElsewhere,
              elsewhere && external.allocFlags.compressionType != 0);
}

std::optional<CUresult> quirk(const Emulator& e, const Touch& touch, const Context& by) {
  // Where the call does not ask for memory of a device, the CPU can make the copy (recorded).
  const bool peers = touch.context || touch.peer_source;  // a peer copy asks for it, too
  const bool by_device = touch.fill || touch.device_only || peers;
  const PlainAllocation* pooled = by_device && touch.width != 0 ? e.plain_at(touch.base) : nullptr;
  if (pooled && pooled->pool && !pooled->on_device() && !e.pools.reaches(pooled->pool, by.device)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const PlainAllocation* plain = touch.fill && touch.width != 0 ? e.plain_at(touch.base) : nullptr;
  if (!plain || !plain->ipc_capable() || !plain->context) return std::nullopt;
  const bool reaches = plain->context->device == by.device || by.peers.contains(plain->context);
  return code(e, Quirk::kFillElsewhere, !reaches);
}

namespace {

std::optional<CUresult> in_ended_context(const Emulator& e) {
  const CUresult result = e.no_context();
  if (result != CUDA_ERROR_CONTEXT_IS_DESTROYED) return std::nullopt;
  return result;
}

}  // namespace

// Frees look for a context even where the address needs none.
std::optional<CUresult> quirk(const Emulator& e, const calls::MemFree&, const Facts&) {
  return in_ended_context(e);
}

std::optional<CUresult> quirk(const Emulator& e, const calls::MemFreeAsync& call, const Facts&) {
  // Whose memory it is comes after the context of a default stream (recorded).
  if (Streams::is_default(call.hStream) && !e.current_context()) return e.no_context();
  return in_ended_context(e);
}

std::optional<CUresult> quirk(const Emulator& e, const calls::MemGetHandleForAddressRange& call,
                              const Facts& facts) {
  const Size page = e.profile.platform.host_page;
  // Ranges that no memory can have are refused before that.
  const bool possible = call.dptr != 0 && call.size - 1 <= UINT64_MAX - call.dptr;
  const bool looks = call.handle && call.flags <= 1 && call.size != 0 && possible &&
                     call.dptr % page == 0 && call.size % page == 0;
  return code(e, Quirk::kRangeContext, looks && facts.context == Facts::Answer::kNo);
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
    one_device = one_device && a && a->prop.location.type == first->prop.location.type &&
                 a->prop.location.id == first->prop.location.id;
  }
  if (!one_device) return;
  violations.erase_if([](const Violation& v) { return v.rule == Rule::kRangeOneDevice; });
}

namespace {

// Gives access as if the call had been this one.
void grant(Emulator& e, Address base, Size size, const CUmemAccessDesc* desc, std::size_t count) {
  const calls::MemSetAccess call{base, size, desc, count};
  if (count != 0 && size != 0 && perform(e, call, {}, {}) == CUDA_SUCCESS) {
    e.model.commit(call, Origin{});
  }
}

// Bytes of a range before its first hole.
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
    return desc.location.type != CU_MEM_LOCATION_TYPE_DEVICE && static_cast<int>(desc.flags) != 0;
  });
  if (bad == end) return;
  for (Address at = call.ptr; at - call.ptr < call.size;) {
    const Mapping* mapping = e.model.mapping_at(at);
    const Allocation* a = mapping ? e.model.allocation(mapping->handle) : nullptr;
    const bool team = mapping && e.model.multicast(mapping->handle);
    if (!a && !team) return;
    const bool last = team || a->prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
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
  e.model.commit(done, Origin{});
}

}  // namespace cuvmm::emulator
