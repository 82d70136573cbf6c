// SPDX-License-Identifier: Apache-2.0
// Follows successful calls, by the kind of object.
#include <algorithm>
#include <string_view>

#include "fuzz/ops/layout.h"

namespace cuvmm::fuzz {

int Layout::change(const Op& op) {
  switch (op.code) {
    case Code::kContext:
      device_[op.actor] = op.place;
      return kSomething;
    case Code::kReserve:
    case Code::kFree:
    case Code::kExtBuffer:
    case Code::kPoolAlloc:
    case Code::kAlloc:
    case Code::kFreeAsync:
    case Code::kMemFree:
      return change_ranges(op);
    case Code::kCreate:
    case Code::kTileCreate:
    case Code::kMcCreate:
    case Code::kRelease:
    case Code::kRetain:
      return change_memories(op);
    case Code::kMap:
    case Code::kUnmap:
      change_mappings(op);
      return kSomething;
    case Code::kExport:
    case Code::kImport:
    case Code::kClose:
    case Code::kExtImport:
      return change_descriptors(op);
    case Code::kPoolCreate:
    case Code::kPoolDefault:
    case Code::kPlaceDefault:
    case Code::kPlaceCurrent:
    case Code::kPoolDestroy:
    case Code::kPoolExport:
    case Code::kPoolImport:
      return change_pools(op);
    case Code::kPointerExport:
    case Code::kPointerImport:
    case Code::kIpcGet:
    case Code::kIpcOpen:
    case Code::kIpcClose:
      return change_shared(op);
    case Code::kEpExport:
      return kUnbound;  // without memory
    default:
      return kSomething;
  }
}

int Layout::add(const Range& range) {
  ranges_.push_back(range);
  return static_cast<int>(ranges_.size());
}

int Layout::add_memory(const Op& op, int object) {
  memories_.push_back({1, 0, object, process_of(op)});
  return static_cast<int>(memories_.size());
}

int Layout::add_object(bool rdma) {
  objects_.push_back({rdma, false});
  return static_cast<int>(objects_.size() - 1);
}

int Layout::change_ranges(const Op& op) {
  Range* range = range_of(op.ref);
  switch (op.code) {
    case Code::kFree:
      if (range) range->live = false;
      return kSomething;
    case Code::kFreeAsync:
    case Code::kMemFree:
      if (!range) return kSomething;
      range->live = false;
      for (Range& other : ranges_) {
        if (range->pointer_of > 0 && other.pointer_of == range->pointer_of) other.live = false;
      }
      return kSomething;
    default:
      return add({distance(op.size, op.odd_size), true, process_of(op)});
  }
}

int Layout::change_memories(const Op& op) {
  switch (op.code) {
    case Code::kRelease:
      if (Memory* memory = memory_of(op.ref)) --memory->references;
      return kSomething;
    case Code::kRetain: {
      const int range = bound(NameKind::kRange, op.ref);
      const std::uint64_t at = distance(op.at, op.odd);
      int made = kFailed;
      for (const Mapping& m : mappings_) {
        if (!m.live || m.range != range || at < m.at || at - m.at >= m.size) continue;
        ++memories_[static_cast<std::size_t>(m.memory - 1)].references;
        made = m.memory;
      }
      return made;
    }
    default: {
      const bool created = op.code == Code::kCreate;
      return add_memory(op,
                        add_object(created && std::string_view(kTwists[op.extra].key) == "rdma"));
    }
  }
}

void Layout::change_mappings(const Op& op) {
  const int range = bound(NameKind::kRange, op.ref);
  const std::uint64_t at = distance(op.at, op.odd);
  const std::uint64_t size = distance(op.size, op.odd_size);
  if (op.code == Code::kUnmap) {
    for (Mapping& m : mappings_) {
      if (m.live && m.range == range && m.at >= at && m.at - at < size) unmap(m);
    }
  } else if (Memory* memory = memory_of(op.ref2); memory && range > 0) {
    mappings_.push_back({range, bound(NameKind::kMemory, op.ref2), at, size, true});
    ++memory->mappings;
  }
}

void Layout::unmap(Mapping& mapping) {
  mapping.live = false;
  Memory& memory = memories_[static_cast<std::size_t>(mapping.memory - 1)];
  --memory.mappings;
  bool older = false, others = false;
  for (const Mapping& m : mappings_) {
    if (!m.live || memories_[static_cast<std::size_t>(m.memory - 1)].object != memory.object)
      continue;
    others = true;
    older |= &m < &mapping;
  }
  Object& object = objects_[static_cast<std::size_t>(memory.object)];
  object.oldest_ended = others && (object.oldest_ended || !older);
}

int Layout::change_descriptors(const Op& op) {
  switch (op.code) {
    case Code::kExport:
      // The descriptor stands for the handle that it was exported from.
      return std::max<int>(bound(NameKind::kMemory, op.ref), kUnbound);
    case Code::kImport: {
      int object = 0;
      if (const int from = bound(NameKind::kDescriptor, op.ref); from > 0) {
        const Memory& exported = memories_[static_cast<std::size_t>(from - 1)];
        object = exported.object;
        // Each process has mappings of its own.
        if (exported.process != process_of(op)) {
          object = add_object(objects_[static_cast<std::size_t>(object)].rdma);
        }
      }
      return add_memory(op, object);
    }
    default:
      if (op.ref) {
        name(NameKind::kDescriptor, op.ref) = op.code == Code::kClose ? kUnbound : kTaken;
      }
      return kSomething;
  }
}

int Layout::change_pools(const Op& op) {
  switch (op.code) {
    case Code::kPoolDestroy:
      if (const int pool = bound(NameKind::kPool, op.ref); pool > 0) {
        pools_[static_cast<std::size_t>(pool - 1)] = false;
      }
      return kSomething;
    case Code::kPoolExport:
      return kUnbound;  // without memory
    default:
      pools_.push_back(true);
      return static_cast<int>(pools_.size());
  }
}

int Layout::change_shared(const Op& op) {
  switch (op.code) {
    case Code::kPointerImport: {
      const int from = bound(NameKind::kBlob, op.ref2);
      const int made = add({size_behind(from), true, process_of(op)});
      ranges_.back().pointer_of = from;
      return made;
    }
    case Code::kIpcOpen:
      return open(op, bound(NameKind::kBlob, op.ref));
    case Code::kIpcClose:
      if (Range* opened = range_of(op.ref)) opened->live = --opened->opens > 0;
      return kSomething;
    default:
      return bound(NameKind::kRange, op.ref);  // stands for the range that it was exported from
  }
}

// A second open in one context only raises the count.
int Layout::open(const Op& op, int from) {
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    Range& r = ranges_[i];
    if (!r.live || from <= 0 || r.source != from) continue;
    if (r.process != process_of(op) || r.device != device_[op.actor]) continue;
    ++r.opens;
    return static_cast<int>(i + 1);
  }
  return add({size_behind(from), true, process_of(op), from, device_[op.actor], 1});
}

}  // namespace cuvmm::fuzz
