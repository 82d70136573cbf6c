#include "spec/tombstones.h"

namespace cuvmm {

std::size_t Tombstones::Ring::slot(std::uint64_t value) {
  return static_cast<std::size_t>((value * 0x9e3779b97f4a7c15u) >> 52) % kFilter;
}

void Tombstones::add(const ObjectRef& object) {
  Ring& ring = rings_[static_cast<std::size_t>(object.kind)];
  const std::uint64_t oldest = ring.objects[ring.next].value;
  if (ring.count == kCapacity && oldest != 0) --ring.filter[Ring::slot(oldest)];
  if (object.value != 0) ++ring.filter[Ring::slot(object.value)];
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
  // Every new handle comes by here: the search has to be the exception.
  std::uint16_t& present = ring.filter[Ring::slot(value)];
  if (value == 0 || present == 0) return;
  // Newest first, until none can be left: what a driver gives out again has just been given back.
  for (std::size_t i = 1; i <= ring.count && present != 0; ++i) {
    ObjectRef& object = ring.objects[(ring.next + kCapacity - i) % kCapacity];
    if (object.value != value) continue;
    object.value = 0;
    --present;
  }
}

void Tombstones::clear() {
  for (Ring& ring : rings_) ring = Ring{};
}

}  // namespace cuvmm
