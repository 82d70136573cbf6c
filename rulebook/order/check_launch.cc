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

// What was mapped there, or reserved, and is gone.
std::optional<ObjectRef> ended_at(const Model& model, Address address) {
  const Tombstones& gone = model.tombstones();
  const auto mapping = gone.find_covering(ObjectRef::Kind::kMapping, address);
  return mapping ? mapping : gone.find_covering(ObjectRef::Kind::kReservation, address);
}

// Memory of a pool that was freed, and no other that is known is there now. The driver is not
// asked: a pool keeps what was freed. The end of other memory is no place where a kernel goes; but
// of a reservation where nothing is mapped there is no end that anybody works up to.
std::optional<ObjectRef> freed_to_pool(const Model& model, Address address) {
  if (memory_at(model, address) || memory_at(model, address - 1)) return {};
  return model.tombstones().find_covering(ObjectRef::Kind::kPoolMemory, address);
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
  const Reservation* r = model.reservation_at(argument.value);
  if (const auto freed = r ? std::nullopt : freed_to_pool(model, argument.value)) {
    out.add(Rule::kLaunchAlive, argument_text(argument) + ", where the memory " +
                                    range(freed->value, freed->size) + " of a pool was freed")
        .objects.push_back(*freed);
    return;
  }
  if (!r && !vacant) return;
  const auto gone = ended_at(model, argument.value);
  if (!r && !gone) return;
  if (gone && (!r || gone->kind == ObjectRef::Kind::kMapping)) {
    const char* how = gone->kind == ObjectRef::Kind::kMapping ? " was unmapped" : " was freed";
    out.add(Rule::kLaunchAlive, argument_text(argument) + ", where the " +
                                    std::string(name(gone->kind)) + " " +
                                    range(gone->value, gone->size) + how)
        .objects.push_back(*gone);
    return;
  }
  out.add(Rule::kLaunchMapped, argument_text(argument) + ", where nothing is mapped in the " +
                                   "reservation " + range(r->base, r->size))
      .objects.push_back(ref(*r));
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
