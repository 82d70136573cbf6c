// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "rulebook/order/check_work.h"

namespace cuvmm {
using namespace detail;

namespace {

std::string argument_text(const LaunchArgument& argument) {
  const std::string number = argument.index < 0 ? "" : " " + std::to_string(argument.index);
  return "argument" + number + " is " + hex_text(argument.value);
}

using Kind = ObjectRef::Kind;

// The last mapping that the live reservation had at the address and that has ended.
std::optional<ObjectRef> unmapped_in(const Model& model, const Reservation& r, Address address) {
  auto last = model.tombstones().find_covering(Kind::kMapping, address);
  if (last && last->made.call < r.made.call) last.reset();
  return last;
}

// Some programs count elements from 1, so their kernels receive the address of one element before
// the first. Kernels that work on rows with a halo receive such addresses, too.
constexpr Size kJustBefore = 4096;

bool any_memory_at(const Model& model, Address address) {
  return model.mapping_at(address) || memory_at(model, address);
}

bool is_just_before_memory(const Model& model, Address address) {
  for (Size distance = 1; distance <= kJustBefore; distance *= 2) {
    if (any_memory_at(model, address + distance)) return true;
  }
  return false;
}

bool can_use(const Mapping& m, int device) {
  return device < 0 || device >= 62 || (m.access.read >> device & 1) != 0;
}

// Whether the device may use some mapping behind the address in its reservation. Looks at kMost
// mappings only, and then assumes so.
bool usable_behind(const Model& model, const Reservation& r, Address address, int device) {
  constexpr int kMost = 64;
  auto next = model.first_mapping_after(address);
  for (int looked = 0; next != model.mappings().end(); ++next) {
    const Mapping& mapping = next->second;
    if (mapping.base - r.base >= r.size) return false;
    if (can_use(mapping, device) || ++looked == kMost) return true;
  }
  return false;
}

// The meanings that one argument of a launch may have besides the byte to which it points.
class Meaning {
 public:
  Meaning(const Model& model, std::span<const LaunchArgument> all, const LaunchArgument& one,
          int device)
      : model_(model), all_(all), one_(one), device_(device) {}

  /// Whether an argument that points into a reservation, where no page is mapped or the device has
  /// no access, may be the start of an arena that has only some of its pages, the end of a part of
  /// an arena, or one element before memory.
  bool of_an_arena(const Reservation& r) const {
    if (one_.touched) return false;
    if (usable_behind(model_, r, one_.value, device_)) return true;
    if (model_.holds_mapping(r) && is_given(r.base, one_.value)) return true;
    return is_just_before_memory(model_, one_.value);
  }
  /// Whether an address outside of all memory may be the end of an arena whose last pages are not
  /// mapped.
  bool of_an_arenas_end() const {
    const Reservation* const r = model_.reservation_at(one_.value - 1);
    return r && !one_.touched && model_.holds_mapping(*r) && is_given(r->base, one_.value);
  }
  bool of_an_element_before() const {
    return !one_.touched && is_just_before_memory(model_, one_.value);
  }
  /// Whether the start of a mapping to which the device has no access may be the end of the memory
  /// in front. If the device may use that memory, the end alone is enough, because some kernels
  /// walk backwards.
  bool of_an_end() const {
    if (one_.touched) return false;
    const Mapping* const ends = model_.mapping_at(one_.value - 1);
    if (ends ? can_use(*ends, device_) : memory_at(model_, one_.value - 1)) return true;
    const Address from = memory_before(model_, one_.value).from;
    return from != 0 && is_given(from, one_.value);
  }

 private:
  // Whether the kernel also receives an address in [from, to).
  bool is_given(Address from, Address to) const {
    return std::any_of(all_.begin(), all_.end(), [&](const LaunchArgument& other) {
      return other.node == one_.node && other.value >= from && other.value < to;
    });
  }

  const Model& model_;
  std::span<const LaunchArgument> all_;
  const LaunchArgument& one_;
  int device_;
};

// The verdict on an address in a mapping that the device may not use.
ArgumentVerdict closed(const Model& model, const Mapping& m, const LaunchArgument& argument,
                       const Meaning& meaning, int device) {
  const Reservation* const r = model.reservation_at(argument.value);
  const bool doubtful =
      (r && usable_behind(model, *r, argument.value, device) && !argument.touched) ||
      (argument.value == m.base && meaning.of_an_end());
  if (doubtful) return {{}, true};
  Collector out;
  out.add(Rule::kLaunchAccess, argument_text(argument) + ", and device " + std::to_string(device) +
                                   " has no access to the mapping " + range(m.base, m.size))
      .objects.push_back(ref(m));
  return {out.take()};
}

Violations ended_at(const LaunchArgument& argument, const ObjectRef& ended_object) {
  Collector out;
  out.add(Rule::kLaunchAlive, argument_text(argument) + ", where " + end_text(ended_object))
      .objects.push_back(ended_object);
  return out.take();
}

Violations nothing_at(const LaunchArgument& argument, const Reservation& r) {
  Collector out;
  out.add(Rule::kLaunchMapped, argument_text(argument) + ", where nothing is mapped in the " +
                                   "reservation " + range(r.base, r.size))
      .objects.push_back(ref(r));
  return out.take();
}

}  // namespace

std::optional<ObjectRef> detail::last_owner(const Model& model, Address address) {
  const Tombstones& tombstones = model.tombstones();
  const auto reservation = tombstones.find_covering(Kind::kReservation, address);
  std::optional<ObjectRef> last = tombstones.find_covering(Kind::kMapping, address);
  if (reservation && (!last || last->ended.call < reservation->made.call)) last = reservation;
  for (const Kind kind : {Kind::kPoolMemory, Kind::kMemory}) {
    const auto other = tombstones.find_covering(kind, address);
    if (other && (!last || last->ended.call < other->ended.call)) last = other;
  }
  return last;
}

std::string detail::end_text(const ObjectRef& ended_object) {
  const std::string bytes = " " + range(ended_object.value, ended_object.size);
  switch (ended_object.kind) {
    case Kind::kMapping:
      return "the mapping" + bytes + " was unmapped";
    case Kind::kPoolMemory:
      return "the memory" + bytes + " of a pool was freed";
    case Kind::kMemory:
      return "the memory" + bytes + " was freed";
    default:
      return "the " + std::string(name(ended_object.kind)) + bytes + " was freed";
  }
}

bool detail::memory_at(const Model& model, Address address) {
  return model.pools().memory_at(address) || model.memory().at(address) ||
         model.external().buffer_at(address) || model.ipc().open_at(address);
}

MemoryBefore memory_before(const Model& model, Address end) {
  // The last pages of an arena may be missing, so the arena ends where its reservation ends.
  if (const Reservation* const before = model.reservation_at(end - 1)) {
    return {before->base, any_memory_at(model, end - 1) || unmapped_in(model, *before, end - 1)};
  }
  if (model.mapping_at(end - 1)) return {0, true};
  if (const auto* pooled = model.pools().memory_at(end - 1)) return {pooled->base, true};
  if (const auto* plain = model.memory().at(end - 1)) return {plain->base, true};
  if (const auto* buffer = model.external().buffer_at(end - 1)) return {buffer->base, true};
  if (const auto* open = model.ipc().open_at(end - 1)) return {open->pointer, true};
  if (const auto ended_object = last_owner(model, end - 1)) return {ended_object->value, true};
  return {};
}

std::uint64_t end_since(const Model& model, Address end) {
  const bool may_begin =
      model.reservation_at(end) || any_memory_at(model, end) || is_just_before_memory(model, end);
  if (may_begin) return AskedMemory::kNever;
  const auto ended_object = last_owner(model, end);
  return ended_object ? ended_object->ended.call : 0;
}

ArgumentVerdict check_argument(const Model& model, std::span<const LaunchArgument> all,
                               const LaunchArgument& one, int device, bool vacant) {
  const Meaning meaning(model, all, one, device);
  if (const Mapping* const m = model.mapping_at(one.value)) {
    return can_use(*m, device) ? ArgumentVerdict{} : closed(model, *m, one, meaning, device);
  }
  // A kernel does not use the byte at the end of the memory that it works on.
  if (!one.touched && model.mapping_at(one.value - 1)) return {};
  if (const Reservation* const r = model.reservation_at(one.value)) {
    if (meaning.of_an_arena(*r)) return {{}, true};
    const auto ended_object = unmapped_in(model, *r, one.value);
    return {ended_object ? ended_at(one, *ended_object) : nothing_at(one, *r)};
  }
  // The same for the end of memory of other kinds.
  if (memory_at(model, one.value) || memory_at(model, one.value - 1)) return {};
  const auto ended_object = last_owner(model, one.value);
  // The address may now belong to memory that the model does not know. `vacant` excludes that: an
  // H100's driver (580.159.04) no longer knows an address after cuMemFreeAsync has returned.
  if (!ended_object || !vacant) return {};
  if (meaning.of_an_element_before() || meaning.of_an_arenas_end()) return {{}, true};
  return {ended_at(one, *ended_object)};
}

Violations check_launch(const Model& model, const LaunchArgument* arguments, std::size_t count,
                        int device, bool vacant) {
  const std::span all(arguments, count);
  Violations found;
  for (const LaunchArgument& one : all) {
    for (const Violation& violation : check_argument(model, all, one, device, vacant).found) {
      const bool listed = std::any_of(found.begin(), found.end(),
                                      [&](const Violation& v) { return v.rule == violation.rule; });
      if (!listed) found.push_back(violation);
    }
  }
  return found;
}

}  // namespace cuvmm
