#include "fuzz/layout.h"

#include "fuzz/machine.h"

namespace cuvmm::fuzz {

namespace {

constexpr const char* kElsewhere =
    "the address lies outside what its name stands for: what else is there is the driver's layout";
constexpr const char* kStale =
    "the handle's allocation is gone: whether its value names another is the driver's heap";
constexpr const char* kReused =
    "the descriptor was taken over: whether another file has its number is the driver's affair";

// Bytes that a call names at its first address.
std::uint64_t extent(const Op& op) {
  switch (op.code) {
    case Code::kFill:
      return std::uint64_t{op.size} << op.extra;
    case Code::kRead:
    case Code::kWrite:
    case Code::kCopy:
      return op.size;
    case Code::kGetAccess:
    case Code::kRetain:
    case Code::kMemFree:
    case Code::kFreeAsync:
    case Code::kPointerExport:
    case Code::kIpcGet:
    case Code::kIpcClose:
      return 1;
    default:
      return distance(op.size, op.odd_size);
  }
}

}  // namespace

const char* Layout::leaves_range(std::uint8_t number, std::uint64_t at, std::uint64_t size) const {
  const int index = bound(NameKind::kRange, number);
  if (index <= 0) return nullptr;
  const Range& range = ranges_[static_cast<std::size_t>(index - 1)];
  const bool inside = range.live && at < range.size && size <= range.size - at;
  return inside ? nullptr : kElsewhere;
}

const char* Layout::leaves_memory(std::uint8_t number) const {
  const int index = bound(NameKind::kMemory, number);
  if (index <= 0) return nullptr;
  return memories_[static_cast<std::size_t>(index - 1)].alive() ? nullptr : kStale;
}

const char* Layout::leaves(const Op& op) const {
  const std::uint64_t at = distance(op.at, op.odd);
  const Shape& s = shape(op.code);
  if (op.code == Code::kReserve) {
    // Whether the hint is a multiple of a large alignment.
    const bool hinted = bound(NameKind::kRange, op.ref) > 0;
    return hinted && alignments()[op.extra] > kGranule ? kElsewhere : nullptr;
  }
  if (s.ref == NameKind::kDescriptor && bound(s.ref, op.ref) == kTaken) return kReused;
  const char* out = nullptr;
  if (op.code == Code::kFree) {
    // One reservation lies at a live base, whatever the size that is asked for.
    out = leaves_range(op.ref, at, 1);
  } else if (s.ref == NameKind::kRange) {
    out = leaves_range(op.ref, at, extent(op));
  } else if (s.ref == NameKind::kMemory) {
    out = leaves_memory(op.ref);
  }
  if (out) return out;
  if (s.ref2 == NameKind::kMemory) return leaves_memory(op.ref2);
  if (op.code == Code::kMcBindAddr) {
    return leaves_range(op.ref2, distance(op.at2, op.odd2), distance(op.size, op.odd_size));
  }
  if (s.ref2 == NameKind::kRange) return leaves_range(op.ref2, distance(op.at2, op.odd2), op.size);
  return nullptr;
}

void Layout::failed(const Op& op) {
  const Shape& s = shape(op.code);
  if (s.makes != NameKind::kNone && !(op.faults & kNullOut)) name(s.makes, op.name) = kFailed;
  if (op.code == Code::kClose && op.ref) name(s.ref, op.ref) = kUnbound;
}

void Layout::succeeded(const Op& op) {
  const std::uint64_t at = distance(op.at, op.odd);
  const std::uint64_t size = distance(op.size, op.odd_size);
  const Shape& s = shape(op.code);
  const int range = s.ref == NameKind::kRange ? bound(NameKind::kRange, op.ref) : 0;
  int made = 1;  // something, whatever it is
  switch (op.code) {
    case Code::kReserve:
      ranges_.push_back({size, true});
      made = static_cast<int>(ranges_.size());
      break;
    case Code::kFree:
      if (range > 0) ranges_[static_cast<std::size_t>(range - 1)].live = false;
      break;
    case Code::kCreate:
    case Code::kMcCreate:
    case Code::kImport:
      memories_.push_back({1, 0});
      made = static_cast<int>(memories_.size());
      break;
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
        if (!m.live || m.range != range || m.at < at || m.at - at >= size) continue;
        m.live = false;
        --memories_[static_cast<std::size_t>(m.memory - 1)].mappings;
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
      ranges_.push_back({size, true});
      made = static_cast<int>(ranges_.size());
      break;
    case Code::kFreeAsync:
    case Code::kMemFree:
      if (range > 0) ranges_[static_cast<std::size_t>(range - 1)].live = false;
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
