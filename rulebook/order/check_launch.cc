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

// The last owner of the address, which is gone. A reservation outlives its mappings: the mapping is
// what the argument pointed to.
std::optional<ObjectRef> last_owner(const Model& model, Address address) {
  const Tombstones& gone = model.tombstones();
  const auto reservation = gone.find_covering(Kind::kReservation, address);
  std::optional<ObjectRef> last = gone.find_covering(Kind::kMapping, address);
  if (reservation && (!last || last->ended.call < reservation->made.call)) last = reservation;
  for (const Kind kind : {Kind::kPoolMemory, Kind::kMemory}) {
    const auto other = gone.find_covering(kind, address);
    if (other && (!last || last->ended.call < other->ended.call)) last = other;
  }
  return last;
}

// In a live reservation: what was mapped there since it was made.
std::optional<ObjectRef> unmapped_in(const Model& model, const Reservation& r, Address address) {
  auto last = model.tombstones().find_covering(Kind::kMapping, address);
  if (last && last->made.call < r.made.call) last.reset();
  return last;
}

// "the mapping [...) was unmapped", "the memory [...) of a pool was freed"
std::string end_text(const ObjectRef& gone) {
  const std::string bytes = " " + range(gone.value, gone.size);
  switch (gone.kind) {
    case Kind::kMapping:
      return "the mapping" + bytes + " was unmapped";
    case Kind::kPoolMemory:
      return "the memory" + bytes + " of a pool was freed";
    case Kind::kMemory:
      return "the memory" + bytes + " was freed";
    default:
      return "the " + std::string(name(gone.kind)) + bytes + " was freed";
  }
}

// A mapping is there: may the device go there?
void check_access(Collector& out, const Mapping& m, const LaunchArgument& argument, int device) {
  if (device < 0 || device >= 62 || (m.access.read >> device & 1)) return;
  out.add(Rule::kLaunchAccess, argument_text(argument) + ", and device " + std::to_string(device) +
                                   " has no access to the mapping " + range(m.base, m.size))
      .objects.push_back(ref(m));
}

void check_argument(Collector& out, const Model& model, const LaunchArgument& argument, int device,
                    bool vacant) {
  if (const Mapping* m = model.mapping_at(argument.value)) {
    return check_access(out, *m, argument, device);
  }
  // The end of what a kernel works on is no place where it goes.
  if (model.mapping_at(argument.value - 1)) return;
  const auto add_gone = [&](const ObjectRef& gone) {
    out.add(Rule::kLaunchAlive, argument_text(argument) + ", where " + end_text(gone))
        .objects.push_back(gone);
  };
  if (const Reservation* r = model.reservation_at(argument.value)) {
    if (const auto gone = unmapped_in(model, *r, argument.value)) return add_gone(*gone);
    out.add(Rule::kLaunchMapped, argument_text(argument) + ", where nothing is mapped in the " +
                                     "reservation " + range(r->base, r->size))
        .objects.push_back(ref(*r));
    return;
  }
  // The end of other memory is no place where a kernel goes, either.
  if (memory_at(model, argument.value) || memory_at(model, argument.value - 1)) return;
  const auto gone = last_owner(model, argument.value);
  // What has the address now may be memory that nobody told the model of. An H100's driver
  // (580.159.04) does not know an address any more once cuMemFreeAsync has returned.
  if (gone && vacant) add_gone(*gone);
}

}  // namespace

bool detail::memory_at(const Model& model, Address address) {
  return model.pools().memory_at(address) || model.memory().at(address) ||
         model.external().buffer_at(address) || model.ipc().open_at(address);
}

Violations check_launch(const Model& model, const LaunchArgument* arguments, std::size_t count,
                        int device, bool vacant) {
  Violations all;
  for (std::size_t i = 0; i < count; ++i) {
    Collector out;
    check_argument(out, model, arguments[i], device, vacant);
    for (const Violation& found : out.take()) {
      const bool said = std::any_of(all.begin(), all.end(),
                                    [&](const Violation& v) { return v.rule == found.rule; });
      if (!said) all.push_back(found);
    }
  }
  return all;
}

}  // namespace cuvmm
