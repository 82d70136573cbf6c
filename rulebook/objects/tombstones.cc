// SPDX-License-Identifier: Apache-2.0
#include "rulebook/objects/tombstones.h"

namespace cuvmm {

std::size_t Tombstones::Ring::slot(std::uint64_t value) {
  return static_cast<std::size_t>((value * 0x9e3779b97f4a7c15u) >> 52) % kFilter;
}

void Tombstones::add(const ObjectRef& object) {
  Ring& ring = rings_[static_cast<std::size_t>(object.kind)];
  Head& head = heads_[static_cast<std::size_t>(object.kind)];
  ObjectRef& place = ring.places[head.next].object;
  if (head.count == kCapacity) {
    if (place.value != 0) --ring.filter[Ring::slot(place.value)];
  } else {
    ++head.count;
  }
  if (object.value != 0) ++ring.filter[Ring::slot(object.value)];
  place = object;
  ring.rests[head.next] = false;
  head.next = (head.next + 1) % kCapacity;
  makers_[object.made.stack % kMakers] = true;
  // The next place has left the caches since it was written, so ask for it before the next add().
  __builtin_prefetch(&ring.places[head.next], 1);
}

namespace {
// Newest first; a forgotten slot has value 0.
template <class Head, class Ring, class Matches>
std::optional<ObjectRef> newest(const Head& head, const Ring& ring, Matches matches) {
  for (std::size_t i = 1; i <= head.count; ++i) {
    const std::size_t place = (head.next + Tombstones::kCapacity - i) % Tombstones::kCapacity;
    const ObjectRef& object = ring.places[place].object;
    if (object.value != 0 && matches(object, ring.rests[place])) return object;
  }
  return std::nullopt;
}
}  // namespace

std::optional<ObjectRef> Tombstones::find(ObjectRef::Kind kind, std::uint64_t value) const {
  const auto k = static_cast<std::size_t>(kind);
  return newest(heads_[k], rings_[k],
                [&](const ObjectRef& object, bool rest) { return object.value == value && !rest; });
}

std::optional<ObjectRef> Tombstones::find_covering(ObjectRef::Kind kind,
                                                   std::uint64_t address) const {
  const auto k = static_cast<std::size_t>(kind);
  return newest(heads_[k], rings_[k], [&](const ObjectRef& object, bool) {
    return address >= object.value && address - object.value < object.size;
  });
}

template <class Change>
[[gnu::hot]] void Tombstones::change_all(ObjectRef::Kind kind, std::uint64_t value,
                                         const Change& change) {
  Ring& ring = rings_[static_cast<std::size_t>(kind)];
  const Head& head = heads_[static_cast<std::size_t>(kind)];
  // Every new handle passes here, so a search must be the exception.
  std::uint16_t& present = ring.filter[Ring::slot(value)];
  if (value == 0 || present == 0) return;
  // Newest first, until no more can match, because the driver gives out values that were freed a
  // moment ago.
  for (std::size_t i = 1; i <= head.count && present != 0; ++i) {
    const std::size_t place = (head.next + kCapacity - i) % kCapacity;
    ObjectRef& object = ring.places[place].object;
    if (object.value != value) continue;
    change(object);
    ring.rests[place] = true;
    --present;
    if (object.value != 0) ++ring.filter[Ring::slot(object.value)];
  }
}

void Tombstones::forget(ObjectRef::Kind kind, std::uint64_t value) {
  change_all(kind, value, [](ObjectRef& object) { object.value = 0; });
}

void Tombstones::reuse(ObjectRef::Kind kind, std::uint64_t value, std::uint64_t size) {
  change_all(kind, value, [&](ObjectRef& object) {
    if (size == 0 || object.size <= size) {
      object.value = 0;
    } else {
      object.value += size;
      object.size -= size;
    }
  });
}

void Tombstones::retract(const ObjectRef& object) {
  Ring& ring = rings_[static_cast<std::size_t>(object.kind)];
  const Head& head = heads_[static_cast<std::size_t>(object.kind)];
  for (std::size_t i = 1; i <= head.count && object.value != 0; ++i) {
    ObjectRef& added = ring.places[(head.next + kCapacity - i) % kCapacity].object;
    if (added.value != object.value || added.ended.call != object.ended.call) continue;
    added.value = 0;
    --ring.filter[Ring::slot(object.value)];
    return;
  }
}

// Clears only the places that were written, because each program of the fuzzer begins with an empty
// model.
void Tombstones::clear() {
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    Ring& ring = rings_[kind];
    for (std::size_t i = 0; i < heads_[kind].count; ++i) {
      ring.filter[Ring::slot(ring.places[i].object.value)] = 0;
    }
  }
  heads_ = {};
  makers_.reset();
}

}  // namespace cuvmm
