// SPDX-License-Identifier: Apache-2.0
// The four entry points that bind memory to a multicast object.
#include <algorithm>

#include "rulebook/check/check_prop.h"
#include "rulebook/sharing/check_multicast.h"

namespace cuvmm {
using namespace detail;

namespace {

// The memory that is bound; null if nothing is known about it.
const Allocation* check_memory(Collector& out, const Model& model, const MulticastBind& bind,
                               const Facts& facts) {
  if (!bind.by_address) {
    return check_handle(out, model, bind.memory,
                        {Rule::kMcBindMemoryNonzero, Rule::kMcBindMemoryValid,
                         Rule::kMcBindMemoryAlive, Rule::kMcBindMemoryReferenced},
                        facts);
  }
  if (bind.address == 0) {
    out.add(Rule::kMcBindMemoryNonzero, "memptr is 0");
    return nullptr;
  }
  if (const Mapping* m = model.mapping_at(bind.address)) return model.allocation(m->handle);
  const bool reserved = model.reservation_at(bind.address) != nullptr;
  Violation& v =
      out.add(Rule::kMcBindMemoryKind,
              reserved ? "nothing is mapped at " + hex_text(bind.address)
                       : hex_text(bind.address) + " is not in a mapping that cuvmm saw being made",
              reserved || certainly_not_reserved(model, bind.address));
  attach_history(v, model, bind.address);
  return nullptr;
}

// Whether memory that begins in the middle of a granule may be bound: by the device that holds the
// memory, or by any device if that device is unknown.
bool binds_unaligned(const Model& model, const MulticastBind& bind, Size memory_at) {
  const std::uint64_t able = model.platform().unaligned_binds;
  const int device = model.device_of(bind);
  const bool can = device < 0 ? able != 0 : in_team(able, device);
  return can && memory_at % kUnalignedBind == 0;
}

// The bytes that stay free behind memory that begins in the middle of a granule; 0 where memory
// must not begin there.
Size granule_behind(const Model& model, const MulticastBind& bind, Size memory_at,
                    Size granularity) {
  const bool middle = granularity != 0 && memory_at % granularity != 0;
  return middle && binds_unaligned(model, bind, memory_at) ? granularity : 0;
}

void check_sizes(Collector& out, const Model& model, const MulticastBind& bind,
                 const MulticastObject* object, const Allocation* memory) {
  const Size memory_at = bind.by_address ? bind.address : static_cast<Size>(bind.memory_offset);
  if (bind.size == 0) out.add(Rule::kMcBindSizeNonzero, "size is 0");
  const Size granularity = object ? object->granularity : 0;
  const auto unaligned = [&](Size value, Size unit) { return unit != 0 && value % unit != 0; };
  const auto off = [&](const char* what, Size value) {
    return std::string(what) + " " + size_text(value) +
           " is not a multiple of the multicast granularity, " + size_text(granularity);
  };
  bool aligned = true;
  if (unaligned(bind.size, granularity)) {
    out.add(Rule::kMcBindSizeAligned, off("size", bind.size));
    aligned = false;
  }
  if (unaligned(bind.offset, granularity)) {
    out.add(Rule::kMcBindOffsetAligned, off("mcOffset", bind.offset));
    aligned = false;
  }
  const bool middle = unaligned(memory_at, granularity);
  if (middle && !binds_unaligned(model, bind, memory_at)) {
    out.add(Rule::kMcBindMemoryAligned,
            bind.by_address
                ? "memptr " + hex_text(bind.address) +
                      " is not a multiple of the multicast granularity, " + size_text(granularity)
                : off("memOffset", memory_at));
    aligned = false;
  } else if (middle && !model.platform().complete) {
    // Only a refusal shows how many such bindings are possible.
    out.add(Rule::kMcBindUnalignedFew,
            "the memory begins in the middle of a granule, and the hardware may have no place left "
            "for that",
            false);
  }
  const Size recommended = object ? object->recommended : 0;
  if (aligned && (unaligned(bind.size, recommended) || unaligned(bind.offset, recommended))) {
    out.add(Rule::kMcBindRecommended,
            "size " + size_text(bind.size) + " or mcOffset " + size_text(bind.offset) +
                " is not a multiple of the recommended granularity, " + size_text(recommended));
  }
  const Size behind = granule_behind(model, bind, memory_at, granularity);
  if (object && object->size != 0 &&
      (bind.offset > object->size || bind.size > object->size - bind.offset ||
       behind > object->size - bind.offset - bind.size)) {
    out.add(Rule::kMcBindInsideObject,
            size_text(bind.size) + " at mcOffset " + size_text(bind.offset) +
                (behind != 0 ? ", and the granule behind them," : "") +
                " go past the end of the multicast object, which has " + size_text(object->size))
        .objects.push_back(ref(*object));
  }
  if (!memory) return;
  const Mapping* m = bind.by_address ? model.mapping_at(bind.address) : nullptr;
  // A bind by address names the mapping there; mappings beside it show other allocations.
  const Size total = m ? m->size : memory->size;
  const Size at = m ? bind.address - m->base : bind.memory_offset;
  if (total != 0 && (at > total || bind.size > total - at)) {
    out.add(Rule::kMcBindInsideMemory, size_text(bind.size) + " at offset " + size_text(at) +
                                           " go past the end of the memory, which has " +
                                           size_text(total))
        .objects.push_back(ref(*memory));
  }
}

// Checks which device holds the memory, and whether that device is in the team.
void check_device(Collector& out, const Model& model, const MulticastBind& bind,
                  const MulticastObject* object, const Allocation* memory, const Facts& facts) {
  const bool known = memory && memory->prop_known;
  const int type = known ? static_cast<int>(memory->prop.location.type) : 0;
  const int home = known ? device_of(memory->prop.location) : kNoDevice;
  if (bind.device) {
    const int device = *bind.device;
    if (!device_exists(model, device)) {
      out.add(Rule::kMcBindDevice, "device " + std::to_string(device) + " does not exist");
      return;
    }
    if (home >= 0 && home != device) {
      out.add(Rule::kMcBindDevice, "dev is " + std::to_string(device) + ", and the memory is on " +
                                       location(memory->prop.location))
          .objects.push_back(ref(*memory));
      return;
    }
  }
  if (known && (type == kLocationHost || (type == kLocationHostNuma && !bind.device))) {
    out.add(Rule::kMcBindMember, "the memory is on " + location(memory->prop.location) +
                                     ", which is not a device of the team")
        .objects.push_back(ref(*memory));
    return;
  }
  const int device = bind.device.value_or(home);
  if (!object || device < 0 || in_team(added_devices(*object, facts), device)) return;
  Violation& v = out.add(Rule::kMcBindMember,
                         "device " + std::to_string(device) + " was not added to the team",
                         team_certain(*object, facts));
  v.objects.push_back(ref(*object));
  if (memory) v.objects.push_back(ref(*memory));
}

void check_vacant(Collector& out, const Model& model, const MulticastBind& bind,
                  const MulticastObject& object) {
  const int device = model.device_of(bind);
  const Size memory_at = bind.by_address ? bind.address : static_cast<Size>(bind.memory_offset);
  const Size behind = granule_behind(model, bind, memory_at, object.granularity);
  const auto end = [](Size offset, Size size, Size more) {
    const Size left = ~Size{0} - offset;
    return size > left || more > left - size ? left : size + more;
  };
  for (const MulticastBinding& b : object.bindings) {
    if (device < 0 || b.device != device) continue;
    if (!overlap(b.offset, end(b.offset, b.size, b.behind), bind.offset,
                 end(bind.offset, bind.size, behind))) {
      continue;
    }
    const bool bytes = overlap(b.offset, b.size, bind.offset, bind.size);
    out.add(Rule::kMcBindVacant, size_text(bind.size) + " at mcOffset " + size_text(bind.offset) +
                                     (bytes ? " overlap what device "
                                            : " lie in the granule that is kept free behind "
                                              "what device ") +
                                     std::to_string(device) + " has bound at mcOffset " +
                                     size_text(b.offset))
        .objects = {ref(object), ref(b)};
    return;
  }
}

Violations check_bind(const Model& model, const MulticastBind& bind, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const MulticastObject* object = check_multicast_handle(out, model, bind.object, facts);
  if (bind.flags != 0)
    out.add(Rule::kMcBindFlagsZero, "flags is " + hex_text(bind.flags) + ", not 0");
  const Allocation* memory = check_memory(out, model, bind, facts);
  check_sizes(out, model, bind, object, memory);
  if (memory && model.multicast(memory->handle)) {
    out.add(Rule::kMcBindMemoryKind,
            handle_text(memory->handle) + " is a handle of a multicast object, not of memory")
        .objects.push_back(ref(*memory));
    memory = nullptr;
  } else {
    check_device(out, model, bind, object, memory, facts);
  }
  if (object && object->shareable && memory && memory->prop_known && !memory->imported &&
      static_cast<unsigned>(memory->prop.requestedHandleTypes) == 0) {
    out.add(Rule::kMcBindShareable, handle_text(memory->handle) +
                                        " was created without handle types, and " +
                                        handle_text(object->handle) + " can be shared")
        .objects = {ref(*memory), ref(*object)};
  }
  if (object && bind.size != 0) check_vacant(out, model, bind, *object);
  // Checked last, because a driver that waits for the team has checked the arguments before.
  if (object) check_all_added(out, *object, facts);
  if (object) check_one_clique(out, model, *object, facts);
  return out.take();
}

}  // namespace

Violations check(const Model& model, const calls::MulticastBindMem& call, const Facts& facts) {
  return check_bind(model, bind_of(call), facts);
}

Violations check(const Model& model, const calls::MulticastBindAddr& call, const Facts& facts) {
  return check_bind(model, bind_of(call), facts);
}

Violations check(const Model& model, const calls::MulticastBindMem_v2& call, const Facts& facts) {
  return check_bind(model, bind_of(call), facts);
}

Violations check(const Model& model, const calls::MulticastBindAddr_v2& call, const Facts& facts) {
  return check_bind(model, bind_of(call), facts);
}

}  // namespace cuvmm
