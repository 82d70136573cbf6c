#include "spec/tombstones.h"

namespace cuvmm {

void Tombstones::add(const ObjectRef& object) {
  Ring& ring = rings_[static_cast<std::size_t>(object.kind)];
  ring.objects[ring.next] = object;
  ring.next = (ring.next + 1) % kCapacity;
  if (ring.count < kCapacity) ++ring.count;
}

namespace {
// Newest first; a forgotten slot has value 0.
template <class RingType, class Matches>
std::optional<ObjectRef> newest(const RingType& ring, Matches matches) {
  for (std::size_t i = 1; i <= ring.count; ++i) {
    const ObjectRef& object =
        ring.objects[(ring.next + Tombstones::kCapacity - i) % Tombstones::kCapacity];
    if (object.value != 0 && matches(object)) return object;
  }
  return std::nullopt;
}
}  // namespace

std::optional<ObjectRef> Tombstones::find(ObjectRef::Kind kind, std::uint64_t value) const {
  return newest(rings_[static_cast<std::size_t>(kind)],
                [&](const ObjectRef& object) { return object.value == value; });
}

std::optional<ObjectRef> Tombstones::find_covering(ObjectRef::Kind kind,
                                                   std::uint64_t address) const {
  return newest(rings_[static_cast<std::size_t>(kind)], [&](const ObjectRef& object) {
    return address >= object.value && address - object.value < object.size;
  });
}

void Tombstones::forget(ObjectRef::Kind kind, std::uint64_t value) {
  Ring& ring = rings_[static_cast<std::size_t>(kind)];
  if (ring.count == 0) return;
  for (ObjectRef& object : ring.objects) {
    if (object.value == value) object.value = 0;
  }
}

void Tombstones::clear() {
  for (Ring& ring : rings_) ring.next = ring.count = 0;
}

}  // namespace cuvmm
