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

// The number of bytes that the call uses from its first address on.
std::uint64_t extent(const Op& op) {
  const Op& used = used_by(op.code);
  if (op.code == Code::kWriteWord || op.code == Code::kWordBatch) return word_bytes(op.extra);
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
  const auto broken = [](const Object& object) { return object.rdma && object.oldest_ended; };
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

const char* Layout::leaves(const Op& op) const {
  const Shape& s = shape(op.code);
  // Ops that name no range may use the bits of a distance for other numbers.
  const std::uint64_t at = s.ref == NameKind::kRange ? distance(op.at, op.odd) : 0;
  const int process = process_of(op);
  if (op.code == Code::kReserve) {
    // Checks that the hint is a multiple of a large alignment, and still in the user's address
    // space.
    const bool hinted = bound(NameKind::kRange, op.ref) > 0;
    return hinted && (kAlignments[op.extra] > kGranule || at > kFar) ? kElsewhere : nullptr;
  }
  if (s.ref == NameKind::kDescriptor && bound(s.ref, op.ref) == kTaken) return kReused;
  // The address is a number without a name: a driver has reserved address space of its own up
  // there.
  if (s.ref == NameKind::kRange && op.ref == 0 && at > kFar) return kElsewhere;
  const char* out = nullptr;
  if (op.code == Code::kFree) {
    // A live base belongs to one reservation, whatever size the call gives.
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
    const bool bind = op.code == Code::kMcBindAddr || op.code == Code::kEpBindAddr;
    const bool word = op.code == Code::kWordBatch;
    const std::uint64_t size = bind   ? distance(op.size, op.odd_size)
                               : word ? word_bytes(op.extra)
                                      : op.size;
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

void Layout::succeeded(const Op& op) {
  const Shape& s = shape(op.code);
  const int made = change(op);
  if (s.makes != NameKind::kNone && !(op.faults & kNullOut)) name(s.makes, op.name) = made;
}

}  // namespace cuvmm::fuzz
