// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of reservations, mappings and access.
#include <algorithm>

#include "api/sizes.h"
#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

namespace {
constexpr std::uint64_t kLargest = std::uint64_t{1} << 46;  // the largest reservation

bool host(int type) { return type == 2 || type == 3; }
}  // namespace

template <class Good>
bool Reference::all(std::uint64_t base, std::uint64_t size, Good good) const {
  if (size == 0) return true;
  if (size - 1 > ~base) return false;  // runs past the end of the address space
  std::uint64_t found = 0;
  for (const Cell& cell : cells_) {
    if (meets(cell, base, size) && good(cell)) ++found;
  }
  return found == (base + (size - 1)) / kGranule - base / kGranule + 1;
}

bool Reference::cuts(std::uint64_t base, std::uint64_t size) const {
  for (const Cell& cell : cells_) {
    if (cell.mapping < 0 || !meets(cell, base, size)) continue;
    const Mapped& m = mappings_[static_cast<std::size_t>(cell.mapping)];
    const bool whole = m.base >= base && m.base - base < size && m.size <= size - (m.base - base);
    if (!whole) return true;
  }
  return false;
}

Judgement Reference::judge(const calls::MemAddressReserve& call, Actor) const {
  Judgement out;
  if (!call.ptr) out.add(Rule::kReservePtrNonnull);
  if (call.flags) out.add(Rule::kReserveFlagsZero);
  if (call.size == 0) out.add(Rule::kReserveSizeNonzero);
  if (call.size % kPage) out.add(Rule::kReserveSizePage);
  if (call.size % kGranule) out.add(Rule::kReserveSizeGranularity);
  if (call.size > kLargest) out.add(Rule::kReserveCapacity);
  if (call.addr % kPage) out.add(Rule::kReserveAddrPage);
  if (call.addr % kGranule) out.add(Rule::kReserveAddrGranularity);
  constexpr std::uint64_t kUserEnd = std::uint64_t{1} << 47, kMargin = std::uint64_t{64} << 20;
  if (call.addr != 0 && (call.addr >= kUserEnd || call.size > kUserEnd - call.addr)) {
    out.add(Rule::kReserveAddrUser);
    out.memory_may_lack = true;
  } else if (call.addr != 0 && kUserEnd - call.addr - call.size < kMargin) {
    out.may_run_out = true;  // an H200 wants some room above
  }
  int bits = 0;
  for (int i = 0; i < 64; ++i) bits += static_cast<int>(call.alignment >> i & 1);
  if (bits > 1) out.add(Rule::kReserveAlignmentPowerOfTwo);
  if (call.alignment && call.addr % call.alignment) out.add(Rule::kReserveAddrAlignment);
  if (call.alignment >= std::uint64_t{1} << 62) {
    out.add(Rule::kReserveAlignmentAddressable);
  } else if (call.alignment >= kLargest) {
    out.add(Rule::kReserveAlignmentLimit);
  }
  out.memory_may_lack = out.memory_may_lack || call.alignment >= kLargest;
  out.may_run_out = out.may_run_out || call.size >= std::uint64_t{1} << 40;
  return out;
}

const char* Reference::accept(const calls::MemAddressReserve& call) {
  const std::uint64_t base = *call.ptr;
  const char* wrong = nullptr;
  if (base == 0 || base % kGranule) wrong = "the address is not one of a granule";
  if (call.alignment && base % call.alignment) wrong = "the address is not aligned as asked for";
  if (plain_.meets(base, call.size)) wrong = "the range overlaps memory in use";
  const int range = static_cast<int>(ranges_.size());
  ranges_.push_back({base, call.size, true});
  for (std::uint64_t at = 0; at < call.size; at += kGranule) {
    Cell* cell = const_cast<Cell*>(cell_at(base + at));
    if (cell && cell->range >= 0) wrong = "the range overlaps a live reservation";
    if (cell) {
      cell->range = range;
    } else {
      cells_.push_back({base + at, range, -1});
    }
  }
  return wrong;
}

Judgement Reference::judge(const calls::MemAddressFree& call, Actor) const {
  Judgement out;
  if (call.ptr == 0) {
    out.add(Rule::kFreePtrNonnull);
    return out;
  }
  const Range* range = nullptr;
  for (const Range& r : ranges_) {
    if (r.live && r.base == call.ptr) range = &r;
  }
  if (!range || range->size != call.size) out.add(Rule::kFreeExact);
  if (!range) return out;
  for (const Cell& cell : cells_) {
    if (cell.mapping >= 0 && meets(cell, range->base, range->size)) {
      out.add(Rule::kFreeUnmapped);
      break;
    }
  }
  return out;
}

void Reference::drop_cells() {
  std::erase_if(cells_, [](const Cell& cell) { return cell.range < 0 && cell.mapping < 0; });
}

const char* Reference::accept(const calls::MemAddressFree& call) {
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (!ranges_[i].live || ranges_[i].base != call.ptr) continue;
    ranges_[i].live = false;
    for (Cell& cell : cells_) {
      if (cell.range == static_cast<int>(i)) cell.range = -1;
    }
  }
  drop_cells();
  return nullptr;
}

Judgement Reference::judge(const calls::MemMap& call, Actor) const {
  Judgement out;
  const Named* named =
      judge_handle(out, call.handle, Rule::kMapHandleNonzero, Rule::kMapHandleValid,
                   Rule::kMapHandleAlive, Rule::kMapHandleReferenced);
  if (call.flags) out.add(Rule::kMapFlagsZero);
  if (call.ptr % kGranule) out.add(Rule::kMapPtrAligned);
  const MulticastTeam* team = named ? team_of(*named) : nullptr;
  if (team) {
    judge_map(out, call, *team);
    // No memory lies behind the handle, but the reference would need a cell for each granule.
    if (call.size >> 32) out.uncovered = true;
  } else if (call.offset) {
    out.add(Rule::kMapOffsetZero);
  }
  if (call.size % kGranule) out.add(Rule::kMapSizeGranularity);
  if (named && !team) {
    const auto& prop = memories_[static_cast<std::size_t>(named->memory)].prop;
    if (prop.allocFlags.usage & 1) out.add(Rule::kMapTilePool);
    const std::uint64_t size = memories_[static_cast<std::size_t>(named->memory)].size;
    if (call.offset > size || call.size > size - call.offset) {
      out.add(Rule::kMapBounds);
    } else if (call.size != size) {
      out.add(Rule::kMapWholeAllocation);
    }
  }
  if (call.size == 0) {
    out.add(Rule::kMapSizeNonzero);
    return out;
  }
  if (call.ptr == 0) {
    out.add(Rule::kMapPtrNonnull);
    return out;
  }
  const Cell* first = cell_at(call.ptr);
  if (!first || first->range < 0) {
    out.add(Rule::kMapPtrReserved);
  } else {
    const Range& range = ranges_[static_cast<std::size_t>(first->range)];
    if (call.size > range.size - (call.ptr - range.base)) {
      out.add(Rule::kMapInsideReservation);
      out.may_refuse = true;  // the tail may reach memory of the driver
      out.unpredictable = true;
    }
  }
  for (const Cell& cell : cells_) {
    if (cell.mapping >= 0 && meets(cell, call.ptr, call.size)) {
      out.add(Rule::kMapVacant);
      break;
    }
  }
  return out;
}

const char* Reference::accept(const calls::MemMap& call) {
  Named* named = const_cast<Named*>(handle(call.handle));
  if (!named) return "a handle that nothing made was mapped";
  ++named->mappings;
  const int mapping = static_cast<int>(mappings_.size());
  mappings_.push_back({.base = call.ptr,
                       .size = call.size,
                       .handle = static_cast<int>(named - handles_.data()),
                       .access = {},
                       .device_last = false,
                       .live = true,
                       .offset = call.offset});
  for (std::uint64_t at = 0; at < call.size; at += kGranule) {
    if (Cell* cell = const_cast<Cell*>(cell_at(call.ptr + at))) {
      cell->mapping = mapping;
    } else {
      cells_.push_back({call.ptr + at, -1, mapping});
    }
  }
  return nullptr;
}

Judgement Reference::judge(const calls::MemUnmap& call, Actor) const {
  Judgement out;
  if (call.size == 0) {
    out.add(Rule::kUnmapSizeNonzero);
    return out;
  }
  const bool cut = cuts(call.ptr, call.size);
  if (cut) out.add(Rule::kUnmapWhole);
  for (std::size_t i = 0; i < handles_.size(); ++i) {
    const Named& named = handles_[i];
    const auto goes = std::count_if(mappings_.begin(), mappings_.end(), [&](const Mapped& m) {
      return m.live && m.handle == static_cast<int>(i) &&
             (m.base >= call.ptr ? m.base - call.ptr < call.size : call.ptr - m.base < m.size);
    });
    if (goes == 0 || goes != named.mappings || named.references != 0) continue;
    if (bound(static_cast<int>(i))) out.add(Rule::kMcBoundMemoryEnds);
  }
  const Cell* first = cell_at(call.ptr);
  if (!first || first->range < 0) {
    // The tail of a mapping beyond its reservation may be unmapped as a whole.
    if (!first) out.add(Rule::kUnmapPtrReserved);
    return out;
  }
  if (!all(call.ptr, call.size, [](const Cell&) { return true; })) {
    out.add(Rule::kUnmapInsideReservation);
  } else if (!cut && !all(call.ptr, call.size, [](const Cell& c) { return c.mapping >= 0; })) {
    out.add(Rule::kUnmapMapped);
  }
  return out;
}

const char* Reference::accept(const calls::MemUnmap& call) {
  for (std::size_t i = 0; i < mappings_.size(); ++i) {
    Mapped& m = mappings_[i];
    const bool hit =
        m.live && (m.base >= call.ptr ? m.base - call.ptr < call.size : call.ptr - m.base < m.size);
    if (!hit) continue;
    m.live = false;
    --handles_[static_cast<std::size_t>(m.handle)].mappings;
    for (Cell& cell : cells_) {
      if (cell.mapping == static_cast<int>(i)) cell.mapping = -1;
    }
  }
  drop_cells();
  return nullptr;
}

Judgement Reference::judge(const calls::MemSetAccess& call, Actor) const {
  Judgement out;
  bool host_asked = false;
  if (call.count == 0) {
    out.add(Rule::kAccessCountNonzero);
  } else if (!call.desc) {
    out.add(Rule::kAccessDescNonnull);
  }
  for (std::size_t i = 0; call.desc && i < call.count; ++i) {
    const auto flags = static_cast<unsigned>(call.desc[i].flags);
    const int type = static_cast<int>(call.desc[i].location.type);
    if (flags == 2 || flags > 3) out.add(Rule::kAccessFlags);
    if (host(type)) {
      host_asked = host_asked || flags != 0;
    } else if (type != 1) {
      out.add(Rule::kAccessLocationType);
    } else if (!valid_device(call.desc[i].location.id)) {
      out.add(Rule::kAccessLocationDevice);
    }
  }
  if (call.ptr == 0) {
    out.add(Rule::kAccessPtrNonnull);
    return out;
  }
  if (call.size == 0) {
    out.add(Rule::kAccessSizeNonzero);
    return out;
  }
  if (call.ptr % kGranule) out.add(Rule::kAccessPtrAligned);
  if (call.size % kGranule) out.add(Rule::kAccessSizeAligned);
  const std::uint64_t last = call.ptr + (call.size - 1);
  const bool ends = mapped_at(call.ptr) && last >= call.ptr && mapped_at(last);
  if (cuts(call.ptr, call.size)) out.add(Rule::kAccessWhole);
  if (!ends) {
    out.add(Rule::kAccessMapped);
  } else if (!all(call.ptr, call.size, [](const Cell& c) { return c.mapping >= 0; })) {
    out.add(Rule::kAccessHole);
  }
  // The driver does not look behind a hole.
  for (std::uint64_t at = 0; call.desc && at < call.size; at += kGranule) {
    const Cell* cell = mapped_at(call.ptr + at);
    if (!cell) break;
    const MulticastTeam* team = team_at(*cell);
    for (std::size_t i = 0; team && i < call.count; ++i) {
      const CUmemAccessDesc& desc = call.desc[i];
      if (static_cast<int>(desc.location.type) != 1 || static_cast<int>(desc.flags) == 0) continue;
      if (!team->member(desc.location.id)) out.add(Rule::kMcAccessMember);
      if (team->shared) out.loose = true;
    }
  }
  for (std::uint64_t at = 0; host_asked && at < call.size; at += kGranule) {
    const Cell* cell = mapped_at(call.ptr + at);
    if (!cell) break;
    if (static_cast<int>(prop_of(*cell).location.type) != 1) continue;
    out.add(Rule::kAccessHostLocation);
    break;
  }
  return out;
}

void Reference::refuse(const calls::MemSetAccess& call, CUresult answer, const Profile& profile) {
  if (answer != CUDA_ERROR_NOT_SUPPORTED || !profile.has(Quirk::kAccessPartial)) return;
  std::size_t bad = 0;
  for (; bad < call.count; ++bad) {
    const CUmemAccessDesc& desc = call.desc[bad];
    if (static_cast<int>(desc.location.type) != 1 && static_cast<int>(desc.flags) != 0) break;
  }
  if (bad == call.count) return;
  for (std::uint64_t at = 0; at < call.size; at += kGranule) {
    const Cell* cell = mapped_at(call.ptr + at);
    if (!cell) return;
    const bool last = static_cast<int>(prop_of(*cell).location.type) == 1;
    grant(mappings_[static_cast<std::size_t>(cell->mapping)], call.desc, last ? bad : call.count);
    if (last) return;
  }
}

void Reference::grant(Mapped& mapping, const CUmemAccessDesc* desc, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const CUmemLocation& location = desc[i].location;
    const int place = host(static_cast<int>(location.type)) ? kPlaces - 1 : location.id;
    if (place < 0 || place >= kPlaces) continue;
    const auto given = static_cast<unsigned char>(desc[i].flags);
    if (given == mapping.access[place]) continue;
    mapping.access[place] = given;
    if (place == 0 || place == kPlaces - 1) mapping.device_last = place == 0;
  }
}

const char* Reference::accept(const calls::MemSetAccess& call, const Profile& profile) {
  for (std::uint64_t at = 0; at < call.size; at += kGranule) {
    const Cell* cell = mapped_at(call.ptr + at);
    if (!cell && profile.has(Quirk::kAccessToHole)) break;
    if (!cell) continue;
    grant(mappings_[static_cast<std::size_t>(cell->mapping)], call.desc, call.count);
  }
  return nullptr;
}

Judgement Reference::judge(const calls::MemGetAccess& call, Actor) const {
  Judgement out;
  if (!call.flags) out.add(Rule::kGetAccessFlagsNonnull);
  if (!call.location) {
    out.add(Rule::kGetAccessLocationNonnull);
  } else if (const int type = static_cast<int>(call.location->type);
             !host(type) && (type != 1 || !valid_device(call.location->id))) {
    out.add(Rule::kGetAccessLocationValid);
  }
  if (call.ptr == 0) {
    out.add(Rule::kGetAccessPtrNonnull);
  } else if (ambiguous(call.ptr)) {
    out.loose = true;
  } else if (plain_.at(call.ptr) && mapped_at(call.ptr - 1)) {
    out.loose = true;  // the end of a mapping, and the beginning of another object
  } else if (!mapped_at(call.ptr) && !plain_.at(call.ptr)) {  // H200: getaccess/cuMemAlloc-ptr
    const bool past_end = !cell_at(call.ptr) && mapped_at(call.ptr - 1);
    out.add(past_end ? Rule::kGetAccessPastEnd : Rule::kGetAccessMapped);
  }
  return out;
}

const char* Reference::accept(const calls::MemGetAccess& call) {
  unsigned expected = 0;
  if (ambiguous(call.ptr)) return nullptr;
  if (const Cell* cell = mapped_at(call.ptr)) {
    const Mapped& m = mappings_[static_cast<std::size_t>(cell->mapping)];
    const int type = static_cast<int>(call.location->type);
    if (type == 1) {
      expected = m.access[call.location->id];
    } else if (type == 3) {
      expected = m.access[kPlaces - 1];
    } else {
      // Measured on an H200: the later of the host's and device 0's access, where both have any.
      const unsigned device = m.access[0], on_host = m.access[kPlaces - 1];
      expected = on_host == 0 || (device != 0 && m.device_last) ? device : on_host;
    }
  }
  return *call.flags == expected ? nullptr : "the access is not what was set";
}

}  // namespace cuvmm::fuzz
