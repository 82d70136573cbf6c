// SPDX-License-Identifier: Apache-2.0
// Plain memory: allocations, registrations, frees and queries. The freed memory may have been made
// by a route that cuvmm did not see, and other memory may have the address of freed memory by now.
// So most findings are certain only where cuvmm sees everything; elsewhere they need the driver's
// refusal.
#include "rulebook/check/check_support.h"

namespace cuvmm {
using namespace detail;

namespace {

bool no_context(Collector& out, const Facts& facts) {
  if (facts.place.context != Facts::Answer::kNo) return false;
  out.add(Rule::kMemoryContext, "no context is current to the calling thread");
  return true;
}

void check_out(Collector& out, const void* place, const char* parameter) {
  if (!place) out.add(Rule::kMemoryOutNonnull, std::string(parameter) + " is NULL");
}

void check_size(Collector& out, std::size_t size, const char* parameter) {
  if (size == 0) out.add(Rule::kMemorySizeNonzero, std::string(parameter) + " is 0");
}

// A newer driver may know more flags.
void check_flags(Collector& out, const Model& model, unsigned flags, unsigned known) {
  if ((flags & ~known) == 0) return;
  out.add(Rule::kMemoryFlags,
          "Flags is " + hex_text(flags) + ", and " + hex_text(flags & ~known) + " is unknown",
          model.platform().complete);
}

Address address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

bool in_reservation(const Model& model, Address address) {
  return model.reservation_at(address) || model.mapping_at(address);
}

std::string inside(Address address, Address base, Size size, const char* what) {
  return hex_text(address) + " is " + size_text(address - base) + " into " + range(base, size) +
         ", " + what;
}

std::optional<ObjectRef> newer(std::optional<ObjectRef> a, std::optional<ObjectRef> b) {
  if (!a || !b) return a ? a : b;
  return a->ended.call < b->ended.call ? b : a;
}

// The memory, of either kind, that ended last at this address.
std::optional<ObjectRef> freed_at(const Model& model, Address address) {
  const Tombstones& tombstones = model.tombstones();
  return newer(tombstones.find(ObjectRef::Kind::kMemory, address),
               tombstones.find(ObjectRef::Kind::kPoolMemory, address));
}
std::optional<ObjectRef> freed_around(const Model& model, Address address) {
  const Tombstones& tombstones = model.tombstones();
  return newer(tombstones.find_covering(ObjectRef::Kind::kMemory, address),
               tombstones.find_covering(ObjectRef::Kind::kPoolMemory, address));
}

const char* freed_by(PlainMemory::Kind kind) {
  switch (kind) {
    case PlainMemory::Kind::kHost:
      return "Free it by cuMemFreeHost.";
    case PlainMemory::Kind::kRegistered:
      return "Call cuMemHostUnregister, and free the memory by the function that belongs to its "
             "allocation (free() for malloc).";
    default:
      return "Free it by cuMemFree.";
  }
}

// Checks live memory at the address. True if there is some: then other checks are pointless.
bool check_freed_live(Collector& out, const Model& model, Address address, bool host, bool sure) {
  if (const PlainMemory* m = model.memory().at(address)) {
    const bool right = host ? m->kind == PlainMemory::Kind::kHost : m->freed_as_device();
    if (!right) {
      Violation& v =
          out.add(Rule::kFreeFunction, hex_text(address) + " is in " + words(m->kind), sure);
      v.objects.push_back(ref(*m));
      v.fix = freed_by(m->kind);
    } else if (m->base != address) {
      Violation& v =
          out.add(Rule::kFreeBase, inside(address, m->base, m->size, words(m->kind)), sure);
      v.objects.push_back(ref(*m));
      if (host) v.fix = "Keep the address that the allocating call returned, and free that.";
    }
    return true;
  }
  if (const PoolMemory* m = model.pools().memory_at(address)) {
    if (host) {
      Violation& v =
          out.add(Rule::kFreeFunction, hex_text(address) + " is in memory of a pool", sure);
      v.objects.push_back(ref(*m));
      v.fix = "Free it by cuMemFreeAsync or cuMemFree.";
    } else if (m->base != address) {
      out.add(Rule::kFreeBase, inside(address, m->base, m->size, "memory of a pool"), sure)
          .objects.push_back(ref(*m));
    }
    return true;
  }
  if (const ExternalBuffer* b = model.external().buffer_at(address)) {
    if (host) {
      Violation& v = out.add(Rule::kFreeFunction,
                             hex_text(address) + " is in a buffer of external memory", sure);
      v.objects.push_back(ref(*b));
      v.fix = "Free it by cuMemFree.";
    } else if (b->base != address) {
      out.add(Rule::kFreeBase, inside(address, b->base, b->size, "a buffer of external memory"),
              sure)
          .objects.push_back(ref(*b));
    }
    return true;
  }
  if (const IpcOpen* open = model.ipc().open_at(address)) {
    if (host || open->pointer != address) {
      Violation& v =
          out.add(Rule::kFreeFunction,
                  hex_text(address) + " is in memory of another process, opened here", sure);
      v.objects.push_back(ref(*open));
      v.fix = "Close the address that cuIpcOpenMemHandle returned by cuIpcCloseMemHandle.";
    }
    return true;
  }
  if (!host || !in_reservation(model, address)) return false;
  Violation& v = out.add(Rule::kFreeFunction, hex_text(address) + " is in a reservation", sure);
  attach_history(v, model, address);
  v.fix = fix_of_reservation(model, address);
  return true;
}

}  // namespace

namespace detail {

void check_freed(Collector& out, const Model& model, Address address, bool host) {
  const bool sure = model.platform().complete;
  if (address == 0 || check_freed_live(out, model, address, host, sure)) return;
  if (const auto ended_object = freed_at(model, address)) {
    Violation& v =
        out.add(Rule::kFreeOnce, "the memory at " + hex_text(address) + " has ended already", sure);
    v.objects.push_back(*ended_object);
    v.fix =
        "Free the memory once: leave out one of the two calls, or set the variable to 0 behind the "
        "first one.";
    return;
  }
  const auto around = freed_around(model, address);
  Violation& v = out.add(
      Rule::kFreeKnown,
      around ? inside(address, around->value, around->size, "memory that has ended already")
             : hex_text(address) + " was returned by no allocating call seen in this process",
      sure);
  if (around) v.objects.push_back(*around);
}

void check_stream(Collector& out, const Model& model, CUstream stream) {
  if (address_of(stream) <= 2) return;  // a default stream
  const auto ended_object = model.tombstones().find(ObjectRef::Kind::kStream, address_of(stream));
  if (!ended_object) return;
  out.add(Rule::kStreamAlive, "stream " + hex_text(address_of(stream)) + " was destroyed",
          model.platform().complete)
      .objects.push_back(*ended_object);
}

}  // namespace detail

// --- Allocation

Violations check(const Model&, const calls::MemAlloc& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts) || no_context(out, facts)) return out.take();
  check_out(out, call.dptr, "dptr");
  check_size(out, call.bytesize, "bytesize");
  return out.take();
}

Violations check(const Model&, const calls::MemAllocPitch& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts) || no_context(out, facts)) return out.take();
  check_out(out, call.dptr, "dptr");
  check_out(out, call.pPitch, "pPitch");
  check_size(out, call.WidthInBytes, "WidthInBytes");
  check_size(out, call.Height, "Height");
  const unsigned element = call.ElementSizeBytes;
  if (element != 4 && element != 8 && element != 16) {
    out.add(Rule::kPitchElement, "ElementSizeBytes is " + std::to_string(element));
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemAllocManaged& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts) || no_context(out, facts)) return out.take();
  check_out(out, call.dptr, "dptr");
  check_size(out, call.bytesize, "bytesize");
  if (call.flags != CU_MEM_ATTACH_GLOBAL && call.flags != CU_MEM_ATTACH_HOST) {
    out.add(Rule::kMemoryFlags,
            "flags is " + hex_text(call.flags) + ", neither CU_MEM_ATTACH_GLOBAL nor _HOST",
            model.platform().complete);
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemAllocAsync& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_stream(out, model, call.hStream);
  // Streams with other handles have a context of their own.
  if (address_of(call.hStream) <= 2 && no_context(out, facts)) return out.take();
  check_out(out, call.dptr, "dptr");
  return out.take();
}

// A size of 0 is accepted, and makes no memory.
Violations check(const Model&, const calls::MemAllocHost& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts) || no_context(out, facts)) return out.take();
  check_out(out, call.pp, "pp");
  return out.take();
}

Violations check(const Model& model, const calls::MemHostAlloc& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts) || no_context(out, facts)) return out.take();
  check_out(out, call.pp, "pp");
  check_flags(out, model, call.Flags,
              CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED);
  return out.take();
}

Violations check(const Model& model, const calls::MemFreeHost& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  check_freed(out, model, address_of(call.p), true);
  return out.take();
}

// --- Registration

Violations check(const Model& model, const calls::MemHostRegister& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts) || no_context(out, facts)) return out.take();
  if (!call.p) out.add(Rule::kHostPointerNonnull, "p is NULL");
  check_size(out, call.bytesize, "bytesize");
  check_flags(out, model, call.Flags,
              CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                  CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY);
  if (!out.empty()) return out.take();
  const Address base = address_of(call.p);
  // The registration, or the driver's own memory, may have ended without cuvmm seeing it.
  const PlainMemory* m = model.memory().first_in(base, call.bytesize);
  if (!m) return out.take();
  // An H200 answers as for registered memory if the range meets the driver's memory but begins
  // before it.
  const bool locked = m->kind == PlainMemory::Kind::kRegistered || m->base > base;
  out.add(locked ? Rule::kRegisterOnce : Rule::kRegisterPageable,
          range(base, call.bytesize) + " shares bytes with " + range(m->base, m->size) + ", " +
              words(m->kind) +
              (m->kind == PlainMemory::Kind::kRegistered
                   ? " and never unregistered. A registration outlives memory that is freed or "
                     "unmapped"
                   : ""),
          model.platform().complete)
      .objects.push_back(ref(*m));
  return out.take();
}

Violations check(const Model& model, const calls::MemHostUnregister& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const Address address = address_of(call.p);
  if (address == 0) {
    out.add(Rule::kHostPointerNonnull, "p is NULL");
    return out.take();
  }
  const bool sure = model.platform().complete;
  if (const PlainMemory* m = model.memory().at(address)) {
    if (m->kind != PlainMemory::Kind::kRegistered) {
      out.add(Rule::kUnregisterFunction, hex_text(address) + " is in " + words(m->kind), sure)
          .objects.push_back(ref(*m));
    } else if (m->base != address) {
      out.add(Rule::kUnregisterBase, inside(address, m->base, m->size, words(m->kind)), sure)
          .objects.push_back(ref(*m));
    }
    return out.take();
  }
  if (model.mapping_at(address) || model.pools().memory_at(address) ||
      model.external().buffer_at(address) || model.ipc().open_at(address)) {
    out.add(Rule::kUnregisterFunction, hex_text(address) + " is in memory of the driver", sure);
    return out.take();
  }
  const auto ended_object = model.tombstones().find(ObjectRef::Kind::kMemory, address);
  Violation& v =
      out.add(Rule::kUnregisterKnown,
              hex_text(address) + (ended_object ? " was unregistered, or freed, already"
                                                : " was registered by no call that was seen"),
              sure);
  if (ended_object) v.objects.push_back(*ended_object);
  return out.take();
}

// --- Queries

Violations check(const Model& model, const calls::MemGetAddressRange& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.base && !call.size) return out.take();
  if (no_context(out, facts)) return out.take();
  if (!in_reservation(model, call.dptr)) return out.take();
  const Mapping* m = model.mapping_at(call.dptr);
  const int device = facts.place.device;
  const bool known = device >= 0 && device < 62;
  if (m && (!known || (m->access.read >> device & 1))) return out.take();
  Violation& v =
      out.add(Rule::kAddressRangeAccess,
              hex_text(call.dptr) +
                  (m ? " is mapped, and device " + std::to_string(device) + " has no access to it"
                     : std::string(" is reserved, and nothing is mapped there")),
              model.platform().complete);
  attach_history(v, model, call.dptr);
  return out.take();
}

Violations check(const Model& model, const calls::PointerSetAttribute& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.value) {
    out.add(Rule::kPointerSetValue, "value is NULL");
    return out.take();
  }
  const bool sure = model.platform().complete;
  if (const Mapping* m = model.mapping_at(call.ptr)) {
    out.add(Rule::kPointerSetNotVmm,
            hex_text(call.ptr) + " is in the mapping " + range(m->base, m->size), sure)
        .objects.push_back(ref(*m));
    return out.take();
  }
  const bool known = model.memory().at(call.ptr) || model.pools().memory_at(call.ptr) ||
                     model.external().buffer_at(call.ptr) || model.ipc().open_at(call.ptr);
  if (!known) {
    const auto ended_object = freed_around(model, call.ptr);
    Violation& v = out.add(Rule::kPointerSetKnown,
                           hex_text(call.ptr) + (ended_object ? " is in memory that has ended"
                                                              : " is in no memory that is known"),
                           sure);
    if (ended_object) v.objects.push_back(*ended_object);
  } else if (call.attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
    out.add(Rule::kPointerSetAttributeKnown,
            "attribute is " + std::to_string(static_cast<int>(call.attribute)), sure);
  }
  return out.take();
}

// --- Streams

Violations check(const Model& model, const calls::StreamDestroy& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (address_of(call.hStream) <= 2) {
    out.add(Rule::kStreamDestroyNamed,
            "hStream is " + hex_text(address_of(call.hStream)) + ", a default stream",
            model.platform().complete);
    return out.take();
  }
  check_stream(out, model, call.hStream);
  return out.take();
}

}  // namespace cuvmm
