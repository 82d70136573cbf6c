// SPDX-License-Identifier: Apache-2.0
// cuMulticastCreate, AddDevice, Unbind and GetGranularity, and multicast objects in other calls.
#include "rulebook/sharing/check_multicast.h"

#include <bit>

#include "rulebook/check/check_prop.h"
#include "rulebook/endpoint/check_endpoint.h"

namespace cuvmm {
using namespace detail;

namespace detail {

ObjectRef ref(const MulticastObject& object) {
  return {ObjectRef::Kind::kAllocation, object.handle, object.size, object.made, {}};
}
ObjectRef ref(const MulticastBinding& binding) {
  return {ObjectRef::Kind::kBinding, binding.offset, binding.size, binding.made, {}};
}

const MulticastObject* check_multicast_handle(Collector& out, const Model& model, Handle handle,
                                              const Facts& facts) {
  const Allocation* a = check_handle(out, model, handle,
                                     {Rule::kMcHandleNonzero, Rule::kMcHandleValid,
                                      Rule::kMcHandleAlive, Rule::kMcHandleReferenced},
                                     facts);
  if (!a) return nullptr;
  if (const MulticastObject* object = model.multicast(handle)) return object;
  // Only the driver knows whether an import is memory or a multicast object.
  const bool memory = !a->imported && a->creation_seen;
  out.add(Rule::kMcHandleKind,
          handle_text(handle) + " is a handle of memory, not of a multicast object",
          memory || model.platform().complete)
      .objects.push_back(ref(*a));
  return nullptr;
}

void check_all_added(Collector& out, const MulticastObject& object, const Facts& facts) {
  if (object.team == 0) {
    // For an import, only the driver knows how many devices are missing.
    out.add(Rule::kMcAllAdded,
            "other processes may not have added their devices to " + handle_text(object.handle),
            false)
        .objects.push_back(ref(object));
    return;
  }
  const unsigned added = added_count(object, facts);
  if (added >= object.team) return;
  out.add(Rule::kMcAllAdded,
          std::to_string(added) + " of " + std::to_string(object.team) + " devices " +
              (facts.multicast.team ? "were added" : "were added by this process"),
          team_certain(object, facts))
      .objects.push_back(ref(object));
}

void check_one_clique(Collector& out, const Model& model, const MulticastObject& object,
                      const Facts& facts) {
  const std::uint64_t added = added_devices(object, facts);
  if (added == 0 || model.platform().cliques.empty()) return;
  const int first = std::countr_zero(added);
  const auto other = outside_clique(model, added, first, CU_CLIQUE_TYPE_MULTICAST_POINTER);
  if (!other) return;
  // The call may fail, but need not.
  out.add(Rule::kMcClique,
          "devices " + std::to_string(first) + " and " + std::to_string(*other) +
              " of the team are in no clique together",
          false)
      .objects.push_back(ref(object));
}

void check_multicast_map(Collector& out, const Model& model, const MulticastObject& object,
                         const calls::MemMap& call, const Facts& facts) {
  if (object.granularity != 0 && call.offset % object.granularity != 0) {
    out.add(Rule::kMcMapOffsetAligned, "offset " + size_text(call.offset) +
                                           " is not a multiple of the multicast granularity, " +
                                           size_text(object.granularity))
        .objects.push_back(ref(object));
  } else if (call.offset != 0) {
    out.add(Rule::kMcMapOffsetZero, "offset is " + size_text(call.offset) + ", not 0")
        .objects.push_back(ref(object));
  }
  if (object.size != 0 && (call.offset > object.size || call.size > object.size - call.offset)) {
    out.add(Rule::kMapBounds, size_text(call.size) + " at offset " + size_text(call.offset) +
                                  " go past the end of the multicast object, which has " +
                                  size_text(object.size))
        .objects.push_back(ref(object));
  }
  check_all_added(out, object, facts);
  check_one_clique(out, model, object, facts);
}

[[gnu::hot]] void check_unbound(Collector& out, const Model& model, const Allocation& ends) {
  for (const auto& [handle, object] : model.multicasts()) {
    for (const MulticastBinding& b : object.bindings) {
      if (b.memory != ends.handle || handle == ends.handle) continue;
      Violation& v = out.add(Rule::kMcBoundMemoryEnds,
                             handle_text(ends.handle) + " is still bound to the multicast object " +
                                 hex_text(handle) + " at offset " + size_text(b.offset));
      v.objects = {ref(ends), ref(object), ref(b)};
      return;
    }
  }
}

bool check_multicast_touch(Collector& out, const Model& model, const Mapping& mapping,
                           const std::string& parameter, bool write, Size offset, Size size) {
  const MulticastObject* object = model.multicast(mapping.handle);
  if (!object) return true;
  if (!write) {
    out.add(Rule::kMcNoRead, parameter + ": " + hex_text(mapping.base + (offset - mapping.offset)) +
                                 " is the address of a multicast object")
        .objects = {ref(mapping), ref(*object)};
    return false;
  }
  if (object->shared) {
    // The bindings of other processes are unknown here. The emulator sees all processes, and checks
    // when it writes.
    if (model.platform().complete) return true;
    out.add(Rule::kMcAllBound,
            parameter + ": another process may have bound nothing at offset " + size_text(offset) +
                " of " + handle_text(object->handle),
            false)
        .objects = {ref(mapping), ref(*object)};
    return true;
  }
  for (int device = 0; device < 63; ++device) {
    if (!in_team(object->added, device)) continue;
    Size at = offset;
    Size left = size;
    while (left != 0) {
      const MulticastBinding* found = nullptr;
      for (const MulticastBinding& b : object->bindings) {
        if (b.device < 0) return true;
        if (b.device == device && at >= b.offset && at - b.offset < b.size) found = &b;
      }
      if (!found) {
        out.add(Rule::kMcAllBound, parameter + ": device " + std::to_string(device) +
                                       " has nothing bound at offset " + size_text(at) + " of " +
                                       handle_text(object->handle))
            .objects = {ref(mapping), ref(*object)};
        return false;
      }
      const Size run = found->size - (at - found->offset);
      if (run >= left) break;
      at += run;
      left -= run;
    }
  }
  return true;
}

}  // namespace detail

namespace {

// Calls add(rule of cuMulticastCreate, message) for mistakes that do not depend on the size.
template <class Add>
void check_object_prop(const CUmulticastObjectProp& prop, Add add) {
  if (prop.numDevices == 0 || prop.numDevices == ~0u) {
    add(Rule::kMcCreateDevices, "prop.numDevices is " + std::to_string(prop.numDevices));
  }
  if (prop.handleTypes & ~static_cast<unsigned long long>(kKnownHandleTypes)) {
    add(Rule::kMcCreateHandleTypes,
        "prop.handleTypes " + hex_text(prop.handleTypes) + " holds unknown bits");
  }
  if (prop.flags != 0) {
    add(Rule::kMcCreateFlagsZero, "prop.flags is " + hex_text(prop.flags) + ", not 0");
  }
}

}  // namespace

Violations check(const Model& model, const calls::MulticastCreate& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.mcHandle) out.add(Rule::kMcCreateHandleNonnull, "mcHandle is NULL");
  if (!call.prop) {
    out.add(Rule::kMcCreatePropNonnull, "prop is NULL");
    return out.take();
  }
  check_object_prop(*call.prop,
                    [&](Rule rule, const std::string& message) { out.add(rule, message); });
  const Size size = call.prop->size;
  if (size == 0) {
    out.add(Rule::kMcCreateSizeNonzero, "prop.size is 0");
  } else if (facts.multicast.granularity != 0 && size % facts.multicast.granularity != 0) {
    out.add(Rule::kMcCreateSizeGranularity,
            "prop.size " + size_text(size) + " is not a multiple of the multicast granularity, " +
                size_text(facts.multicast.granularity));
  } else if (facts.multicast.recommended != 0 && size % facts.multicast.recommended != 0) {
    out.add(Rule::kMcCreateSizeRecommended,
            "prop.size " + size_text(size) + " is not a multiple of the recommended granularity, " +
                size_text(facts.multicast.recommended));
  }
  if (model.platform().multicast_known && model.platform().multicast == 0) {
    out.add(Rule::kMcCreateSupported, "no device of this machine supports multicast");
  }
  return out.take();
}

Violations check(const Model& model, const calls::MulticastAddDevice& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const MulticastObject* object = check_multicast_handle(out, model, call.mcHandle, facts);
  if (!device_exists(model, call.dev)) {
    out.add(Rule::kMcAddDeviceExists, "device " + std::to_string(call.dev) + " does not exist");
    return out.take();
  }
  if (model.platform().multicast_known && !in_team(model.platform().multicast, call.dev)) {
    out.add(Rule::kMcAddSupported,
            "device " + std::to_string(call.dev) + " does not support multicast");
  }
  if (!object) return out.take();
  const std::uint64_t added = added_devices(*object, facts);
  const bool again = in_team(added, call.dev);
  // Another process may have added the device, maybe under another number.
  if (again) {
    out.add(Rule::kMcAddUnique, "device " + std::to_string(call.dev) + " was added already")
        .objects.push_back(ref(*object));
  } else if (object->team != 0 && added_count(*object, facts) >= object->team) {
    out.add(Rule::kMcAddLimit,
            "the team of " + std::to_string(object->team) + " devices is complete")
        .objects.push_back(ref(*object));
  } else if (!team_certain(*object, facts)) {
    out.add(Rule::kMcAddUnique,
            "device " + std::to_string(call.dev) + " may have been added by another process", false)
        .objects.push_back(ref(*object));
  }
  // The call may fail, but need not.
  if (const auto other = outside_clique(model, added, call.dev, CU_CLIQUE_TYPE_MULTICAST_POINTER)) {
    out.add(Rule::kMcAddClique,
            "device " + std::to_string(call.dev) + " is in no clique with device " +
                std::to_string(*other) + ", which was added before",
            false)
        .objects.push_back(ref(*object));
  }
  return out.take();
}

Violations check(const Model& model, const calls::MulticastUnbind& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const MulticastObject* object = check_multicast_handle(out, model, call.mcHandle, facts);
  const bool exists = device_exists(model, call.dev);
  if (!exists) {
    out.add(Rule::kMcUnbindDevice, "device " + std::to_string(call.dev) + " does not exist");
  }
  const bool member = object && in_team(added_devices(*object, facts), call.dev);
  if (object && exists && !member) {
    out.add(Rule::kMcUnbindDevice, "device " + std::to_string(call.dev) + " was not added",
            team_certain(*object, facts))
        .objects.push_back(ref(*object));
  }
  if (call.size == 0) out.add(Rule::kMcUnbindSizeNonzero, "size is 0");
  if (!object) return out.take();
  const Size granularity = object->granularity;
  if (granularity != 0 && (call.mcOffset % granularity != 0 || call.size % granularity != 0)) {
    out.add(Rule::kMcUnbindAligned,
            "mcOffset " + size_text(call.mcOffset) + " or size " + size_text(call.size) +
                " is not a multiple of the multicast granularity, " + size_text(granularity));
    return out.take();
  }
  if (object->size != 0 &&
      (call.mcOffset > object->size || call.size > object->size - call.mcOffset)) {
    out.add(Rule::kMcUnbindInsideObject,
            size_text(call.size) + " at mcOffset " + size_text(call.mcOffset) +
                " go past the end of the multicast object, which has " + size_text(object->size))
        .objects.push_back(ref(*object));
    return out.take();
  }
  if (!exists || !member || call.size == 0) return out.take();
  const MulticastBinding* inside = nullptr;  // a binding that holds the offset
  for (const MulticastBinding& b : object->bindings) {
    if (b.device < 0) return out.take();  // this binding may be of the device
    if (b.device != call.dev || !overlap(b.offset, b.size, call.mcOffset, call.size)) continue;
    if (b.offset == call.mcOffset && b.size == call.size) return out.take();
    inside = &b;
  }
  if (inside) {
    out.add(Rule::kMcUnbindExact, size_text(call.size) + " at mcOffset " +
                                      size_text(call.mcOffset) +
                                      " is not what was bound: " + size_text(inside->size) +
                                      " at mcOffset " + size_text(inside->offset))
        .objects = {ref(*object), ref(*inside)};
  } else {
    out.add(Rule::kMcUnbindBound,
            "no memory of device " + std::to_string(call.dev) + " is bound at mcOffset " +
                size_text(call.mcOffset),
            !object->shared)
        .objects.push_back(ref(*object));
  }
  return out.take();
}

Violations check(const Model&, const calls::MulticastGetGranularity& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.granularity) out.add(Rule::kMcGranularityOutNonnull, "granularity is NULL");
  const auto option = static_cast<unsigned>(call.option);
  if (option > 1) {
    out.add(Rule::kMcGranularityOption, "option is " + std::to_string(option) + ", not 0 or 1");
  }
  if (!call.prop) {
    out.add(Rule::kMcGranularityPropNonnull, "prop is NULL");
    return out.take();
  }
  std::string problems;
  check_object_prop(*call.prop, [&](Rule, const std::string& message) {
    problems += (problems.empty() ? "" : "; ") + message;
  });
  if (!problems.empty()) out.add(Rule::kMcGranularityPropValid, problems);
  return out.take();
}

}  // namespace cuvmm
