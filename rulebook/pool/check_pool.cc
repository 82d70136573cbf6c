// SPDX-License-Identifier: Apache-2.0
// Stream-ordered pools: creation, export and import.
#include "rulebook/pool/check_pool.h"

#include <algorithm>
#include <climits>
#include <map>
#include <utility>

#include "rulebook/check/check_prop.h"

namespace cuvmm {
using namespace detail;

const Pool* detail::check_pool(Collector& out, const Model& model, CUmemoryPool handle,
                               const PoolRules& rules, const Facts& facts) {
  if (!handle) {
    out.add(rules.valid, "the pool is NULL");
    return nullptr;
  }
  if (const Pool* pool = model.pools().find(handle)) return pool;
  if (facts.pool.is_default == Facts::Answer::kYes) return nullptr;
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  if (auto ended_object = model.tombstones().find(ObjectRef::Kind::kPool, value)) {
    out.add(rules.alive, "pool " + hex_text(value) + " was destroyed")
        .objects.push_back(*ended_object);
  } else if (!model.pools().serves_a_place(handle)) {
    out.add(
        rules.valid,
        "pool " + hex_text(value) + " was not returned by any call that cuvmm saw in this process",
        model.platform().complete);
  }
  return nullptr;
}

bool detail::check_place(Collector& out, const Model& model, const CUmemLocation& place,
                         bool managed, const PlaceRules& rules, bool other_reason) {
  const int type = static_cast<int>(place.type);
  const bool domain = is_domain(place) && has_domains(model.platform());
  if (type == kLocationDevice || (domain && !managed)) {
    const int device = device_of(place);
    const int domains = domains_of(model.platform(), device);
    if (!may_exist(model, device)) {
      out.add(rules.device, "location is " + location(place) + ", and no such device exists");
      return false;
    }
    if (is_domain(place) && domains != 0 && locality_domain(place).domain >= domains) {
      out.add(rules.domain, "location is " + location(place) + ", which has " +
                                std::to_string(domains) + (domains == 1 ? " domain" : " domains"));
      return false;
    }
    return true;
  }
  if (type == kLocationHostNuma) {
    const HoldsMemory holds = holds_memory(model.platform(), place.id, other_reason);
    if (holds != HoldsMemory::kYes) {
      out.add(
          rules.node,
          "location.id is " + std::to_string(place.id) + ", not a NUMA node that can hold memory",
          holds == HoldsMemory::kNo);
    }
    return holds != HoldsMemory::kNo;
  }
  if (type == kLocationHost || (managed && type == kLocationNone)) return true;
  out.add(rules.type, "location is " + location(place) +
                          (domain ? ", where no managed memory can be"
                                  : ", not a device, the host or a NUMA node"));
  return false;
}

namespace {

// Checks one descriptor of cuMemPoolSetAccess. `pool` is null for a default pool, and for a pool
// that cuvmm did not see being made.
void check_pool_access(Collector& out, const Model& model, const Pool* pool,
                       const CUmemAccessDesc& desc, const std::string& which, const Facts& facts) {
  const auto flags = static_cast<unsigned>(desc.flags);
  const bool none = flags == CU_MEM_ACCESS_FLAGS_PROT_NONE;
  if (flags == CU_MEM_ACCESS_FLAGS_PROT_READ) {
    out.add(Rule::kPoolAccessReadOnly, which + "flags is READ");
  } else if (!none && flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    out.add(Rule::kPoolAccessFlags, which + "flags is " + std::to_string(flags));
  }
  const bool unknown_type = is_domain(desc.location) && !has_domains(model.platform());
  if (!is_device(desc.location) || unknown_type) {
    const bool of_host = is_host(desc.location) && !none;
    if (of_host && pool && (pool->on_host() || pool->managed)) return;
    // The place of an imported pool may be unknown, and so is that of a pool which cuvmm did not
    // see being made, unless it is a device's default pool.
    const bool placed = pool ? pool->placed() : facts.pool.default_device != Facts::kUnknownDevice;
    out.add(Rule::kPoolAccessLocationType, which + location(desc.location) + " is not a device",
            !of_host || placed);
    return;
  }
  const int device = device_of(desc.location);
  if (!may_exist(model, device)) {
    out.add(Rule::kPoolAccessLocationDevice, which + location(desc.location) + " does not exist");
    return;
  }
  if (!none) return;
  const bool unknown = pool && !pool->placed();
  const bool own = pool ? device_of(pool->location) == device : facts.pool.default_device == device;
  if (!own && !unknown) return;
  Violation& v = out.add(
      Rule::kPoolAccessOwn,
      which + "flags is NONE for " + location(desc.location) + ", which holds the memory", own);
  if (pool) v.objects.push_back(ref(*pool));
}

// Checks the demands on pools of managed memory alone. They are documented, and nobody measured
// them.
void check_managed(Collector& out, const Platform& platform, std::size_t most, unsigned usage) {
  if (most != 0) {
    out.add(Rule::kPoolCreateManagedMax,
            "maxSize is " + size_text(most) + " for a pool of managed memory, not 0");
  }
  if (usage != 0) {
    out.add(Rule::kPoolCreateManagedUsage,
            "usage is " + hex_text(usage) + " for a pool of managed memory, not 0");
  }
  if (platform.managed_known && !platform.managed) {
    out.add(Rule::kPoolCreateManagedSupported,
            "allocType is MANAGED, and a device cannot use managed memory while the host does");
  }
}

void check_reserved(Collector& out, const Platform& platform, const PoolPropsTail& tail) {
  constexpr int kRdmaSince = 13040;  // the byte was reserved before
  const bool older = platform.driver_version != 0 && platform.driver_version < kRdmaSince;
  if (older && tail.gpuDirectRDMACapable != 0) {
    out.add(Rule::kPoolCreateReserved, "the byte behind usage is " +
                                           hex_text(tail.gpuDirectRDMACapable) +
                                           ", not 0: this driver is older than "
                                           "gpuDirectRDMACapable (CUDA 13.4)");
    return;
  }
  const auto* reserved = std::find_if(std::begin(tail.reserved), std::end(tail.reserved),
                                      [](unsigned char byte) { return byte != 0; });
  if (reserved == std::end(tail.reserved)) return;
  out.add(Rule::kPoolCreateReserved, "reserved byte " +
                                         std::to_string(reserved - std::begin(tail.reserved)) +
                                         " is " + hex_text(*reserved) + ", not 0");
}

bool one_type(unsigned type) { return type == 1 || type == 2 || type == 4 || type == kFabric; }

}  // namespace

Violations check(const Model& model, const calls::MemPoolCreate& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.pool) out.add(Rule::kPoolCreateOutNonnull, "pool is NULL");
  if (!call.poolProps) {
    out.add(Rule::kPoolCreatePropsNonnull, "poolProps is NULL");
    return out.take();
  }
  const CUmemPoolProps& props = *call.poolProps;
  const int type = static_cast<int>(props.allocType);
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != kManagedMemory) {
    out.add(Rule::kPoolCreateType, "allocType is " + std::to_string(type) + ", not PINNED (1)");
  }
  const bool managed = type == kManagedMemory;
  const auto types = static_cast<unsigned>(props.handleTypes);
  if (types != 0 && (managed || static_cast<int>(props.location.type) == kLocationHost)) {
    out.add(Rule::kPoolCreateHostHandleTypes,
            "handleTypes is " + hex_text(types) + " for a " +
                (managed ? "pool of managed memory" : "HOST pool") + ", not 0");
  }
  check_place(out, model, props.location, managed,
              {Rule::kPoolCreateLocationType, Rule::kPoolCreateLocationDevice,
               Rule::kPoolCreateLocationDomain, Rule::kPoolCreateLocationNode},
              (types & kFabric) != 0);
  const Platform& platform = model.platform();
  const std::uint32_t supported = platform.handle_types;
  if (supported != 0 && (types & ~supported)) {
    out.add(Rule::kPoolCreateHandleTypes,
            "handleTypes is " + hex_text(types) + "; this system supports " + hex_text(supported));
  } else if ((types & kFabric) && platform.fabric_channel_known && !platform.fabric_channel) {
    out.add(Rule::kPoolCreateFabric,
            "handleTypes has FABRIC, and this process can open no IMEX channel");
  }
  check_multinode(platform, props.location, types,
                  [&](const char* what) { out.add(Rule::kPoolCreateMultinode, what); });
  if (props.win32SecurityAttributes && !(types & CU_MEM_HANDLE_TYPE_WIN32)) {
    out.add(Rule::kPoolCreateWin32, "win32SecurityAttributes is set without WIN32");
  }
  const PoolPropsTail tail = tail_of(props);
  if (managed) {
    check_managed(out, platform, props.maxSize, tail.usage);
  } else if (tail.usage & ~kUsageHwDecompress) {
    out.add(Rule::kPoolCreateUsage, "usage is " + hex_text(tail.usage));
  }
  check_reserved(out, platform, tail);
  return out.take();
}

Violations check(const Model& model, const calls::MemPoolDestroy& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const Pool* pool = check_pool(out, model, call.pool,
                                {Rule::kPoolDestroyPoolValid, Rule::kPoolDestroyPoolAlive}, facts);
  if (is_default(pool, facts)) {
    out.add(Rule::kPoolDestroyDefault, "the pool is a device's default pool");
  }
  if (!pool || !pool->imported) return out.take();
  const std::size_t taken = model.pools().taken_from(pool->handle);
  if (taken == 0) {
    if (facts.pool.held_elsewhere != Facts::Answer::kNo) {
      out.add(Rule::kPoolDestroyImported,
              "a pointer that was imported through another import of the pool was not freed",
              facts.pool.held_elsewhere == Facts::Answer::kYes);
    }
    return out.take();
  }
  Violation& v = out.add(
      Rule::kPoolDestroyImported,
      taken == 1
          ? "1 pointer that was imported through the pool was not freed"
          : std::to_string(taken) + " pointers that were imported through the pool were not freed");
  v.objects.push_back(ref(*pool));
  for (const auto& [base, memory] : model.pools().memory()) {
    const bool also = std::ranges::count(memory.also, pool->handle) != 0;
    if (memory.pool == pool->handle || also) v.objects.push_back(ref(memory));
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemAllocFromPoolAsync& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.dptr) out.add(Rule::kPoolAllocOutNonnull, "dptr is NULL");
  if (call.bytesize == 0) out.add(Rule::kPoolAllocSize, "bytesize is 0");
  const Pool* pool = check_pool(out, model, call.pool,
                                {Rule::kPoolAllocPoolValid, Rule::kPoolAllocPoolAlive}, facts);
  if (pool && pool->imported) {
    out.add(Rule::kPoolAllocImported, "the pool was imported").objects.push_back(ref(*pool));
  }
  // The null stream, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD belong to the current context.
  const bool default_stream = reinterpret_cast<std::uintptr_t>(call.hStream) <= 2;
  if (default_stream && facts.place.context == Facts::Answer::kNo) {
    out.add(Rule::kPoolAllocContext, "the stream is a default stream, and no context is current");
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemPoolExportToShareableHandle& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.handle_out) out.add(Rule::kPoolExportOutNonnull, "handle_out is NULL");
  if (call.flags != 0)
    out.add(Rule::kPoolExportFlags, "flags is " + hex_text(call.flags) + ", not 0");
  const Pool* pool = check_pool(out, model, call.pool,
                                {Rule::kPoolExportPoolValid, Rule::kPoolExportPoolAlive}, facts);
  const auto type = static_cast<unsigned>(call.handleType);
  const bool of_place = is_default(pool, facts);
  if (pool && pool->imported) {
    out.add(Rule::kPoolExportNotImported, "the pool was imported").objects.push_back(ref(*pool));
  } else if (of_place || !one_type(type) || (pool && !(pool->handle_types & type))) {
    Violation& v = out.add(
        Rule::kPoolExportType,
        "handleType is " + std::to_string(type) +
            (of_place ? "; a default pool has no handle type"
             : pool   ? "; the pool was created with handleTypes " + hex_text(pool->handle_types)
                      : ", not exactly one type"));
    if (pool) v.objects.push_back(ref(*pool));
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemPoolImportFromShareableHandle& call,
                 const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.pool_out) out.add(Rule::kPoolImportOutNonnull, "pool_out is NULL");
  if (call.flags != 0)
    out.add(Rule::kPoolImportFlags, "flags is " + hex_text(call.flags) + ", not 0");
  const auto type = static_cast<unsigned>(call.handleType);
  if (!one_type(type) || type == CU_MEM_HANDLE_TYPE_WIN32_KMT) {
    out.add(Rule::kPoolImportType, "handleType is " + std::to_string(type));
    return out.take();
  }
  // Another driver may tell a descriptor of 0 from a NULL pointer, so this needs the driver's
  // refusal.
  if (!call.handle) {
    out.add(Rule::kPoolImportNonzero, "handle is 0, which the driver takes for a NULL pointer",
            false);
  }
  const std::uint32_t supported = model.platform().handle_types;
  if (supported != 0 && !(supported & type)) {
    out.add(Rule::kPoolImportTypeSupported, "handleType is " + std::to_string(type) +
                                                "; this system supports " + hex_text(supported));
    return out.take();
  }
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return out.take();
  const auto descriptor = reinterpret_cast<std::intptr_t>(call.handle);
  if (descriptor == 0) return out.take();
  if (descriptor > INT_MAX) {
    out.add(Rule::kPoolImportDescriptor,
            "handle is " + hex_text(static_cast<std::uint64_t>(descriptor)) +
                ": an address, where the descriptor itself is expected");
  } else if (facts.sharing.descriptor_kind == Facts::Answer::kNo) {
    out.add(Rule::kPoolImportKind, "descriptor " + std::to_string(descriptor) +
                                       " is a descriptor of an allocation, not of a pool");
  } else if (facts.sharing.descriptor_valid != Facts::Answer::kYes) {
    out.add(Rule::kPoolImportDescriptor,
            "descriptor " + std::to_string(descriptor) + " does not refer to an exported pool",
            descriptor < 0 || facts.sharing.descriptor_valid == Facts::Answer::kNo);
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemPoolExportPointer& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.shareData_out) out.add(Rule::kPoolPointerOutNonnull, "shareData_out is NULL");
  const PoolMemory* memory = model.pools().memory_at(call.ptr);
  if (!memory) {
    // An address belongs to one live object at a time, and another pool may have the freed address
    // by now.
    const auto ended_object = model.tombstones().find(ObjectRef::Kind::kPoolMemory, call.ptr);
    Violation& v =
        out.add(Rule::kPoolPointerValid,
                hex_text(call.ptr) + (ended_object ? " was freed" : " is not memory of a pool"),
                call.ptr == 0 || model.platform().complete);
    if (ended_object) v.objects.push_back(*ended_object);
    return out.take();
  }
  if (memory->imported) {
    out.add(Rule::kPoolPointerValid, hex_text(call.ptr) + " was imported, not allocated here")
        .objects.push_back(ref(*memory));
    return out.take();
  }
  if (memory->base != call.ptr) {
    out.add(Rule::kPoolPointerBase, hex_text(call.ptr) + " is " +
                                        size_text(call.ptr - memory->base) + " into " +
                                        range(memory->base, memory->size))
        .objects.push_back(ref(*memory));
  }
  const Pool* pool = model.pools().find(memory->pool);
  const bool none = pool && pool->handle_types == 0;
  if (none || is_default(pool, facts)) {
    Violation& v = out.add(Rule::kPoolPointerShareable,
                           hex_text(call.ptr) + " belongs to a pool without a handle type");
    v.objects.push_back(ref(*memory));
    if (pool) v.objects.push_back(ref(*pool));
  } else if (pool && !pool->exported) {
    Violation& v = out.add(Rule::kPoolPointerExported,
                           "the pool of " + hex_text(call.ptr) + " was not exported yet");
    v.objects.push_back(ref(*pool));
    v.objects.push_back(ref(*memory));
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemPoolImportPointer& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  if (!call.ptr_out) out.add(Rule::kPoolTakeOutNonnull, "ptr_out is NULL");
  if (!call.shareData) out.add(Rule::kPoolTakeDataNonnull, "shareData is NULL");
  const Pool* pool = check_pool(out, model, call.pool,
                                {Rule::kPoolTakePoolValid, Rule::kPoolTakePoolAlive}, facts);
  if ((pool && !pool->imported) || is_default(pool, facts)) {
    Violation& v =
        out.add(Rule::kPoolTakeImported, "the pool belongs to this process: it was not imported");
    if (pool) v.objects.push_back(ref(*pool));
  }
  if (facts.pool.imported_before != Facts::Answer::kNo) {
    out.add(Rule::kPoolTakeOnce, "the memory lies on the host and was imported before",
            facts.pool.imported_before == Facts::Answer::kYes);
  }
  if (call.shareData && facts.pool.token == Facts::Token::kEnded) {
    out.add(Rule::kPoolTakeAlive, "the memory of shareData was freed");
  } else if (call.shareData && facts.pool.token != Facts::Token::kValid) {
    const IpcBytes data = ipc_bytes(*call.shareData);
    const bool zeros = std::ranges::all_of(data, [](unsigned char byte) { return byte == 0; });
    out.add(Rule::kPoolTakeData,
            zeros ? "all 64 bytes of shareData are 0"
                  : "shareData does not name live memory of this pool",
            zeros || facts.pool.token != Facts::Token::kUnknown);
  }
  return out.take();
}

Violations check(const Model& model, const calls::MemPoolSetAccess& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const Pool* pool = check_pool(out, model, call.pool,
                                {Rule::kPoolAccessPoolValid, Rule::kPoolAccessPoolAlive}, facts);
  if (!call.map) {
    if (call.count != 0) out.add(Rule::kPoolAccessMap, "map is NULL");
    return out.take();
  }
  for (std::size_t i = 0; i < call.count; ++i) {
    const std::string which = "descriptor " + std::to_string(i) + ": ";
    check_pool_access(out, model, pool, call.map[i], which, facts);
  }
  return out.take();
}

Violations check(const Model& model, const calls::DeviceSetMemPool& call, const Facts& facts) {
  Collector out;
  if (not_initialized(out, facts)) return out.take();
  const bool valid = may_exist(model, call.dev);
  if (!valid) {
    out.add(Rule::kPoolSetDevice, "device " + std::to_string(call.dev) + " does not exist");
  }
  const Pool* pool =
      check_pool(out, model, call.pool, {Rule::kPoolSetPoolValid, Rule::kPoolSetPoolAlive}, facts);
  if (!pool) return out.take();
  if (pool->imported) {
    out.add(Rule::kPoolSetImported, "the pool was imported").objects.push_back(ref(*pool));
  } else if (valid && device_of(pool->location) != call.dev) {
    const std::string where =
        pool->managed ? "managed, not" : "on " + location(pool->location) + ", not";
    out.add(Rule::kPoolSetLocal,
            "the pool's memory is " + where + " on device " + std::to_string(call.dev))
        .objects.push_back(ref(*pool));
  }
  return out.take();
}

namespace {

// Reports memory that is left of destroyed pools: one finding for each pool and maker.
void check_memory_left(Collector& out, const Model& model) {
  struct Left {
    const PoolMemory* first = nullptr;
    std::uint64_t count = 0;
    Size size = 0;
  };
  std::map<std::pair<std::uint64_t, std::uint32_t>, Left> all;
  for (const auto& [base, one] : model.pools().memory()) {
    if (!one.pool_has_ended() || one.imported) continue;
    Left& left = all[{one.pool, one.made.stack}];
    if (!left.first || one.made.call < left.first->made.call) left.first = &one;
    ++left.count;
    left.size += one.size;
  }
  for (const auto& [key, left] : all) {
    const std::uint64_t pool = key.first;
    const bool several = left.count > 1;
    Violation& v = out.add(Rule::kPoolMemoryLeak,
                           count_text(left.count, "piece") + " of memory (" + size_text(left.size) +
                               (several ? " together) were" : ") was") +
                               " never freed, and the pool " + hex_text(pool) + " that " +
                               (several ? "they are" : "it is") + " of was destroyed");
    v.count = left.count;
    v.objects.push_back(ref(*left.first));
    const auto ended_object = model.tombstones().find(ObjectRef::Kind::kPool, pool);
    if (ended_object && ended_object->ended.call > left.first->made.call)
      v.objects.push_back(*ended_object);
  }
}

}  // namespace

void detail::check_pool_exit(Collector& out, const Model& model) {
  check_memory_left(out, model);
  const PoolState& state = model.pools();
  for (const auto& [handle, pool] : state.pools()) {
    if (pool.foreign || pool.outlived) continue;
    const bool current = std::any_of(state.current().begin(), state.current().end(),
                                     [&, h = handle](const auto& set) { return set.second == h; });
    if (current || state.taken_from(handle) != 0) continue;
    out.add(Rule::kPoolLeak,
            "pool " + hex_text(handle) + " holds no memory and was never destroyed")
        .objects.push_back(ref(pool));
  }
}

}  // namespace cuvmm
