// SPDX-License-Identifier: Apache-2.0
#include "fuzz/ops/layout.h"

#include <algorithm>
#include <string_view>

namespace cuvmm::fuzz {

namespace {

constexpr std::uint64_t kFar = std::uint64_t{1} << 30;  ///< more than any reservation
constexpr const char* kElsewhere =
    "the address lies outside what its name stands for: what else is there is the driver's layout";
constexpr const char* kStale =
    "the handle's allocation is gone: whether its value names another is the driver's heap";
constexpr const char* kStalePool =
    "the pool was destroyed: whether its value names another is the driver's heap";
constexpr const char* kReused =
    "the descriptor was taken over: whether another file has its number is the driver's affair";

constexpr const char* kForeign =
    "the value is another process's: whether it means something in this one is the driver's layout";

// Bytes that a call names at its first address.
std::uint64_t extent(const Op& op) {
  const Op& used = used_by(op.code);
  if (!used.size) return 1;
  if (used.odd_size) return distance(op.size, op.odd_size);
  return std::uint64_t{op.size} << (op.code == Code::kFill ? op.extra : 0);
}

}  // namespace

const char* Layout::leaves_range(int process, std::uint8_t number, std::uint64_t at,
                                 std::uint64_t size) const {
  const int index = bound(NameKind::kRange, number);
  if (index <= 0) return nullptr;
  const Range& range = ranges_[static_cast<std::size_t>(index - 1)];
  if (range.process != process) return kForeign;
  const bool inside = range.live && at < range.size && size <= range.size - at;
  return inside ? nullptr : kElsewhere;
}

bool Layout::begins_inside(const Op& op) const {
  const int index = bound(NameKind::kRange, op.ref);
  if (index <= 0) return false;
  const Range& range = ranges_[static_cast<std::size_t>(index - 1)];
  return range.live && range.process == process_of(op) && distance(op.at, op.odd) < range.size;
}

const char* Layout::leaves_memory(int process, std::uint8_t number) const {
  const int index = bound(NameKind::kMemory, number);
  if (index <= 0) return nullptr;
  const Memory& memory = memories_[static_cast<std::size_t>(index - 1)];
  if (memory.process != process) return kForeign;
  return memory.alive() ? nullptr : kStale;
}

const Layout::Object* Layout::object_of(std::uint8_t number) const {
  const int index = bound(NameKind::kMemory, number);
  if (index <= 0) return nullptr;
  return &objects_[static_cast<std::size_t>(memories_[static_cast<std::size_t>(index - 1)].object)];
}

const char* Layout::unsettled(const Op& op) const {
  const char* const rdma = "RDMA memory without its oldest mapping";
  if (op.code == Code::kCreate) {
    const bool much = distance(op.size, op.odd_size) >= std::uint64_t{8} << 30;
    const PropertyTwist& twist = kTwists[op.extra];
    const bool tile_pool = std::string_view(twist.key) == "usage" && twist.value % 2;
    return tile_pool && much ? "gigabytes of TILE_POOL memory" : nullptr;
  }
  const auto broken = [](const Object& object) { return object.rdma && object.oldest_gone; };
  if (op.code == Code::kMap) {
    const Object* object = object_of(op.ref2);
    return object && broken(*object) ? rdma : nullptr;
  }
  if (op.code != Code::kSetAccess) return nullptr;
  const int range = bound(NameKind::kRange, op.ref);
  const std::uint64_t at = distance(op.at, op.odd);
  const std::uint64_t size = distance(op.size, op.odd_size);
  const bool some = std::any_of(mappings_.begin(), mappings_.end(), [&](const Mapping& m) {
    const Memory& memory = memories_[static_cast<std::size_t>(m.memory - 1)];
    return m.live && m.range == range && m.at >= at && m.at - at < size &&
           broken(objects_[static_cast<std::size_t>(memory.object)]);
  });
  return some ? rdma : nullptr;
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
  object.oldest_gone = others && (object.oldest_gone || !older);
}

const char* Layout::leaves(const Op& op) const {
  const std::uint64_t at = distance(op.at, op.odd);
  const Shape& s = shape(op.code);
  const int process = process_of(op);
  if (op.code == Code::kReserve) {
    // Whether the hint is a multiple of a large alignment, and still in the user's address space.
    const bool hinted = bound(NameKind::kRange, op.ref) > 0;
    return hinted && (kAlignments[op.extra] > kGranule || at > kFar) ? kElsewhere : nullptr;
  }
  if (s.ref == NameKind::kDescriptor && bound(s.ref, op.ref) == kTaken) return kReused;
  // A number and no name: a driver reserves address space of its own up there.
  if (s.ref == NameKind::kRange && op.ref == 0 && at > kFar) return kElsewhere;
  const char* out = nullptr;
  if (op.code == Code::kFree) {
    // One reservation lies at a live base, whatever the size that is asked for.
    out = leaves_range(process, op.ref, at, 1);
  } else if (s.ref == NameKind::kRange) {
    out = leaves_range(process, op.ref, at, extent(op));
  } else if (s.ref == NameKind::kMemory) {
    out = leaves_memory(process, op.ref);
  }
  if (out) return out;
  for (const int pool : {s.ref == NameKind::kPool ? bound(s.ref, op.ref) : 0,
                         s.ref2 == NameKind::kPool ? bound(s.ref2, op.ref2) : 0}) {
    if (pool > 0 && !pools_[static_cast<std::size_t>(pool - 1)]) return kStalePool;
  }
  if (s.ref2 == NameKind::kMemory) return leaves_memory(process, op.ref2);
  if (s.ref2 == NameKind::kRange) {
    const bool bind = op.code == Code::kMcBindAddr;
    const std::uint64_t size = bind ? distance(op.size, op.odd_size) : op.size;
    return leaves_range(process, op.ref2, distance(op.at2, op.odd2), size);
  }
  return nullptr;
}

void Layout::failed(const Op& op) {
  const Shape& s = shape(op.code);
  if (s.makes != NameKind::kNone && !(op.faults & kNullOut)) name(s.makes, op.name) = kFailed;
  if (op.code == Code::kClose && op.ref) name(s.ref, op.ref) = kUnbound;
  // Some refusals close the descriptor as well.
  if (op.code == Code::kExtImport && op.ref) name(s.ref, op.ref) = kTaken;
}

// Opening again in one context only counts.
int Layout::open(const Op& op, int from) {
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    Range& r = ranges_[i];
    if (!r.live || from <= 0 || r.source != from) continue;
    if (r.process != process_of(op) || r.device != device_[op.actor]) continue;
    ++r.opens;
    return static_cast<int>(i + 1);
  }
  const std::uint64_t bytes = from > 0 ? ranges_[static_cast<std::size_t>(from - 1)].size : 0;
  ranges_.push_back({bytes, true, process_of(op), from, device_[op.actor], 1});
  return static_cast<int>(ranges_.size());
}

void Layout::succeeded(const Op& op) {
  const std::uint64_t at = distance(op.at, op.odd);
  const std::uint64_t size = distance(op.size, op.odd_size);
  const Shape& s = shape(op.code);
  const int range = s.ref == NameKind::kRange ? bound(NameKind::kRange, op.ref) : 0;
  int made = 1;  // something, whatever it is
  switch (op.code) {
    case Code::kReserve:
      ranges_.push_back({size, true, process_of(op)});
      made = static_cast<int>(ranges_.size());
      break;
    case Code::kFree:
      if (range > 0) ranges_[static_cast<std::size_t>(range - 1)].live = false;
      break;
    case Code::kCreate:
    case Code::kMcCreate:
      objects_.push_back(
          {op.code == Code::kCreate && std::string_view(kTwists[op.extra].key) == "rdma", false});
      memories_.push_back({1, 0, static_cast<int>(objects_.size() - 1), process_of(op)});
      made = static_cast<int>(memories_.size());
      break;
    case Code::kExport:
      // A descriptor stands for the handle that it was made of.
      made = std::max<int>(bound(NameKind::kMemory, op.ref), kUnbound);
      break;
    case Code::kImport: {
      int object = 0;
      if (const int from = bound(NameKind::kDescriptor, op.ref); from > 0) {
        const Memory& exported = memories_[static_cast<std::size_t>(from - 1)];
        object = exported.object;
        if (exported.process != process_of(op)) {
          // Each process has mappings of its own.
          objects_.push_back({objects_[static_cast<std::size_t>(object)].rdma, false});
          object = static_cast<int>(objects_.size() - 1);
        }
      }
      memories_.push_back({1, 0, object, process_of(op)});
      made = static_cast<int>(memories_.size());
      break;
    }
    case Code::kRelease:
      if (const int memory = bound(NameKind::kMemory, op.ref); memory > 0) {
        --memories_[static_cast<std::size_t>(memory - 1)].references;
      }
      break;
    case Code::kMap:
      if (const int memory = bound(NameKind::kMemory, op.ref2); memory > 0 && range > 0) {
        mappings_.push_back({range, memory, at, size, true});
        ++memories_[static_cast<std::size_t>(memory - 1)].mappings;
      }
      break;
    case Code::kUnmap:
      for (Mapping& m : mappings_) {
        if (m.live && m.range == range && m.at >= at && m.at - at < size) unmap(m);
      }
      break;
    case Code::kRetain:
      made = kFailed;
      for (const Mapping& m : mappings_) {
        if (!m.live || m.range != range || at < m.at || at - m.at >= m.size) continue;
        ++memories_[static_cast<std::size_t>(m.memory - 1)].references;
        made = m.memory;
      }
      break;
    case Code::kClose:
      if (op.ref) name(s.ref, op.ref) = kUnbound;
      break;
    case Code::kPoolAlloc:
    case Code::kAlloc:
    case Code::kExtBuffer:
      ranges_.push_back({size, true, process_of(op)});
      made = static_cast<int>(ranges_.size());
      break;
    case Code::kPoolExport:
      made = kUnbound;  // of no memory
      break;
    case Code::kPointerExport:
    case Code::kIpcGet:
      made = range;  // stands for what it was made of
      break;
    case Code::kContext:
      device_[op.actor] = op.place;
      break;
    case Code::kIpcOpen:
      made = open(op, bound(NameKind::kBlob, op.ref));
      break;
    case Code::kIpcClose:
      if (range > 0) {
        Range& opened = ranges_[static_cast<std::size_t>(range - 1)];
        opened.live = --opened.opens > 0;
      }
      break;
    case Code::kPointerImport: {
      const int from = bound(NameKind::kBlob, op.ref2);
      const std::uint64_t bytes = from > 0 ? ranges_[static_cast<std::size_t>(from - 1)].size : 0;
      ranges_.push_back({bytes, true, process_of(op)});
      ranges_.back().pointer_of = from;
      made = static_cast<int>(ranges_.size());
      break;
    }
    case Code::kFreeAsync:
    case Code::kMemFree: {
      if (range <= 0) break;
      Range& freed = ranges_[static_cast<std::size_t>(range - 1)];
      freed.live = false;
      for (Range& other : ranges_) {
        if (freed.pointer_of > 0 && other.pointer_of == freed.pointer_of) other.live = false;
      }
      break;
    }
    case Code::kPoolCreate:
    case Code::kPoolDefault:
    case Code::kPoolImport:
      pools_.push_back(true);
      made = static_cast<int>(pools_.size());
      break;
    case Code::kPoolDestroy:
      if (const int pool = bound(NameKind::kPool, op.ref); pool > 0) {
        pools_[static_cast<std::size_t>(pool - 1)] = false;
      }
      break;
    case Code::kExtImport:
      if (op.ref) name(s.ref, op.ref) = kTaken;
      break;
    default:
      break;
  }
  if (s.makes != NameKind::kNone && !(op.faults & kNullOut)) name(s.makes, op.name) = made;
}

}  // namespace cuvmm::fuzz
