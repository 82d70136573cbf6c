// SPDX-License-Identifier: Apache-2.0
// The properties of a pointer: cuPointerGetAttribute(s) and cuMemGetAddressRange.
#include "api/location.h"
#include "api/newer/pools.h"
#include "api/sizes.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/memory/memory_entry.h"

namespace cuvmm::emulator {

namespace {

/// The facts that the attributes report about an address that belongs to the driver.
struct PointerFacts {
  CUmemorytype type = CU_MEMORYTYPE_DEVICE;
  int device = 0;
  Context* context = nullptr;  ///< null for VMM memory: it belongs to no context
  Address base = 0;            ///< of the block: the whole reservation for VMM memory
  Size size = 0;
  Address mapping_base = 0;
  Size mapping_size = 0;
  unsigned handle_types = 0;
  std::uint64_t id = 0;
  unsigned access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;  ///< of the current context's device
  bool legacy_ipc = false;
  bool rdma = true;
  bool host_pointer = false;  ///< the CPU may use the address
  bool vmm = false;
  bool managed = false;
  bool hw_decompress = false;  ///< the device's decompression engine may write it
  bool reaches = true;         ///< the current context's device may use the address
  std::uint64_t pool = 0;
  bool sync_memops = false;
  int domain = -1;  ///< the locality domain of a device, if it lies in one
};

int domain_of(const CUmemLocation& place) {
  return is_domain(place) ? locality_domain(place).domain : -1;
}

unsigned access_of(const Emulator& e, const Mapping& mapping) {
  const Context* current = e.current_context();
  // Without a context there is no device that could access the memory (recorded).
  if (!current) return 0;
  const std::uint64_t bit = std::uint64_t{1} << current->device;
  if (mapping.access.write & bit) return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return (mapping.access.read & bit) ? unsigned{CU_MEM_ACCESS_FLAGS_PROT_READ} : 0u;
}

/// Whether the current context's device may use the memory: a pool's memory where the pool grants
/// access, another device's memory where peer access was enabled (recorded on two H200s).
bool reaches(const Emulator& e, const PlainAllocation& plain) {
  const Context* current = e.current_context();
  const CUmemLocation& home = plain.memory.prop().location;
  const bool on_device = is_device(home);
  if (plain.managed) return true;
  if (!current) return on_device;
  if (plain.pool) {
    return (on_device && device_of(home) == current->device) ||
           e.pools.reaches(plain.pool, current->device);
  }
  if (!plain.context || plain.context->device == current->device) return true;
  return current->peers.contains(plain.context);
}

Size up_to(Size size, Size step) { return (size + step - 1) / step * step; }

bool look_up(const Emulator& e, Address address, PointerFacts& out) {
  if (const Mapping* mapping = e.model.mapping_at(address)) {
    const Physical* memory = e.physical.find(mapping->handle);
    if (!memory) return false;
    const CUmemAllocationProp& prop = memory->prop();
    const Reservation* reservation = e.model.reservation_at(address);
    const bool on_device = is_device(prop.location);
    out.type = on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    out.device = on_device ? device_of(prop.location) : 0;
    out.domain = domain_of(prop.location);
    out.base = reservation ? reservation->base : mapping->base;
    out.size = reservation ? reservation->size : mapping->size;
    out.mapping_base = mapping->base;
    out.mapping_size = mapping->size;
    out.handle_types = static_cast<unsigned>(prop.requestedHandleTypes);
    out.id = memory->id();
    out.access = access_of(e, *mapping);
    out.rdma = prop.allocFlags.gpuDirectRDMACapable != 0;
    out.host_pointer = e.cpu_view.shows(*mapping);
    out.vmm = true;
    out.reaches = out.access != 0;
    constexpr unsigned kHwDecompress = 2;  // CU_MEM_CREATE_USAGE_HW_DECOMPRESS, CUDA 12.8
    out.hw_decompress = (prop.allocFlags.usage & kHwDecompress) != 0;
    return true;
  }
  if (const PlainAllocation* plain = e.plain.at(address)) {
    // An H100's driver (580.159.04) no longer knows an address once cuMemFreeAsync has returned,
    // though the pool keeps the memory.
    const bool freed = plain->pool && !plain->of_graph && !e.model.pools().memory_at(plain->base) &&
                       e.model.tombstones().find(ObjectRef::Kind::kPoolMemory, plain->base);
    if (freed) return false;
    const CUmemLocation& location = plain->memory.prop().location;
    const bool on_device = is_device(location);
    out.type = on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    out.device = on_device ? device_of(location) : 0;
    // Opened memory reports the device that opened it.
    if (on_device && plain->opens != 0) out.device = plain->context->device;
    out.context = plain->pool ? nullptr : plain->context;
    out.pool = plain->of_graph ? 0 : plain->pool;  // memory of a graph names no pool (recorded)
    out.domain = domain_of(location);
    out.mapping_base = plain->base;
    // The driver of an H200 (580.159.04) tells no beginning of memory of a pool on the host.
    out.base = plain->pool && !on_device && !plain->managed ? 0 : plain->base;
    out.size = plain->size;
    // The sizes of the blocks from which the driver cuts allocations.
    out.mapping_size = up_to(plain->size, plain->pool ? Size{32} << 20 : Size{2} << 20);
    out.rdma = out.hw_decompress = plain->ipc_capable();
    out.sync_memops = plain->sync_memops;
    out.id = plain->memory.id();
    out.handle_types = static_cast<unsigned>(plain->memory.prop().requestedHandleTypes);
    out.legacy_ipc = plain->ipc_capable();
    out.host_pointer = plain->on_cpu;
    out.managed = plain->managed != nullptr;
    out.reaches = reaches(e, *plain);
    return true;
  }
  if (const HostBlock* block = e.host.at(address)) {
    out.type = CU_MEMORYTYPE_HOST;
    out.device = block->context->device;
    out.context = block->context;
    out.base = out.mapping_base = block->base;
    out.size = block->size;
    out.mapping_size = up_to(block->size, Size{2} << 20);
    if (block->registered) {  // the registration locked whole pages
      out.mapping_base = block->base / kPage * kPage;
      out.mapping_size = up_to(block->base + block->size, kPage) - out.mapping_base;
      if (block->flags & CU_MEMHOSTREGISTER_READ_ONLY) out.access = CU_MEM_ACCESS_FLAGS_PROT_READ;
    }
    out.id = block->id;
    out.host_pointer = true;
    out.rdma = false;
    out.sync_memops = block->sync_memops;
    return true;
  }
  return false;
}

constexpr int kHwDecompressCapable = 21;  // CUDA 12.8

// Whether the profile's driver is new enough to have an attribute.
bool has_attribute(const Emulator& e, int number) {
  return number != kPointerLocalityDomain || has_domains(e.model.platform());
}

template <class Value>
CUresult put(void* data, Value value) {
  *static_cast<Value*>(data) = value;
  return CUDA_SUCCESS;
}

CUresult attribute(const PointerFacts& p, Address address, int attribute, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(data, p.context ? p.context->handle() : nullptr);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(data, static_cast<unsigned>(p.type));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      put(data, static_cast<CUdeviceptr>(p.reaches ? address : 0));
      return p.reaches ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      put(data, reinterpret_cast<void*>(p.host_pointer ? address : 0));
      return p.host_pointer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put(data, static_cast<int>(p.sync_memops));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return put(data, static_cast<unsigned long long>(p.id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(data, static_cast<int>(p.managed));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(data, p.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(data, static_cast<int>(p.legacy_ipc));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(data, reinterpret_cast<void*>(p.base));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(data, static_cast<std::size_t>(p.size));
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(data, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put(data, static_cast<unsigned long long>(p.handle_types));
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return put(data, static_cast<int>(p.rdma));
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(data, p.access);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(data, reinterpret_cast<CUmemoryPool>(p.pool));
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return put(data, static_cast<std::size_t>(p.mapping_size));
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return put(data, reinterpret_cast<void*>(p.mapping_base));
    case kHwDecompressCapable:
      return put(data, static_cast<int>(p.hw_decompress));
    case kPointerLocalityDomain:
      return put(data, p.domain);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult run_base(const calls::PointerGetAttribute& call) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    PointerFacts facts;
    if (!call.data || !look_up(e, call.ptr, facts)) return CUDA_ERROR_INVALID_VALUE;
    if (!has_attribute(e, call.attribute)) return CUDA_ERROR_INVALID_VALUE;
    const bool for_device = call.attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
    if (for_device && !e.current_context()) return CUDA_ERROR_INVALID_CONTEXT;
    return attribute(facts, call.ptr, static_cast<int>(call.attribute), call.data);
  });
}

namespace {

// The range of an address without a mapping: its reservation; without a reservation nothing is
// written.
CUresult reserved_range(const Emulator& e, Address address, int number, void* data) {
  const Reservation* reservation = e.model.reservation_at(address);
  if (!reservation) return CUDA_SUCCESS;
  if (number == CU_POINTER_ATTRIBUTE_RANGE_SIZE) {
    return put(data, static_cast<std::size_t>(reservation->size));
  }
  return put(data, reinterpret_cast<void*>(reservation->base));
}

// Writes the attribute of a pointer that the driver does not know, or that lacks the attribute:
// zero, in the width of the attribute.
CUresult absent_attribute(const Emulator& e, bool known, Address address, int number, void* data) {
  PointerFacts none;
  none.rdma = false;
  none.access = 0;
  none.host_pointer = true;
  none.type = static_cast<CUmemorytype>(0);
  switch (number) {
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put(data, 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(data, known ? 0 : CU_DEVICE_INVALID);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return reserved_range(e, address, number, data);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: {
      // An address that does not belong to the driver is its own host pointer.
      const bool reserved = known || e.model.reservation_at(address) != nullptr;
      return attribute(none, reserved ? 0 : address, number, data);
    }
    default:
      return attribute(none, 0, number, data);
  }
}

}  // namespace

// Unlike cuPointerGetAttribute, this call answers for pointers that the driver does not know.
CUVMM_DRIVER_FUNCTION(cuPointerGetAttributes, unsigned count, CUpointer_attribute* attributes,
                      void** data, CUdeviceptr address) {
  return locked([&](Emulator& e) -> CUresult {
    if (!attributes || !data || count == 0) return CUDA_ERROR_INVALID_VALUE;
    PointerFacts facts;
    const bool known = look_up(e, address, facts);
    for (unsigned i = 0; i < count; ++i) {
      if (!data[i]) return CUDA_ERROR_INVALID_VALUE;
      const int number = static_cast<int>(attributes[i]);
      if (!has_attribute(e, number)) return CUDA_ERROR_INVALID_VALUE;
      // Without a context the device pointer is absent; cuPointerGetAttribute refuses the question
      // (recorded).
      const bool nobodys = number == CU_POINTER_ATTRIBUTE_DEVICE_POINTER && !e.current_context();
      if (known && !nobodys && attribute(facts, address, number, data[i]) == CUDA_SUCCESS) continue;
      const CUresult result = absent_attribute(e, known, address, number, data[i]);
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}

void forgive(const Emulator& e, const calls::PointerSetAttribute& call, Violations& violations) {
  if (!e.plain.at(call.ptr) && !e.host.at(call.ptr)) return;
  violations.erase_if([](const Violation& v) { return v.rule == Rule::kPointerSetKnown; });
}

CUresult perform(Emulator& e, const calls::PointerSetAttribute& call, const Facts&,
                 const Retired&) {
  PointerFacts facts;
  if (!call.value || !look_up(e, call.ptr, facts)) return CUDA_ERROR_INVALID_VALUE;
  if (facts.vmm) return CUDA_ERROR_NOT_SUPPORTED;
  if (call.attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
  const bool on = *static_cast<const unsigned*>(call.value) != 0;
  if (PlainAllocation* plain = e.plain.at(call.ptr)) {
    plain->sync_memops = on;
  } else if (HostBlock* block = e.host.at(call.ptr)) {
    block->sync_memops = on;
  }
  return CUDA_SUCCESS;
}

// Memory that this device may not touch is treated as absent (observation ptr/mapped-noaccess).
CUresult perform(Emulator& e, const calls::MemGetAddressRange& call, const Facts&, const Retired&) {
  if (!call.base && !call.size) return CUDA_SUCCESS;
  if (!e.current_context()) return CUDA_ERROR_INVALID_CONTEXT;
  PointerFacts facts;
  const bool known = look_up(e, call.dptr, facts);
  // A host pool's memory is treated as absent, too.
  const bool of_host_pool = facts.pool != 0 && facts.type == CU_MEMORYTYPE_HOST;
  if (!known || of_host_pool || !facts.reaches) {
    write_refused(e, call, CUDA_ERROR_NOT_FOUND);
    return CUDA_ERROR_NOT_FOUND;
  }
  // The range of mapped memory is the mapping, that of other memory the allocation. For memory of
  // the host the driver writes base 0 (recorded).
  const bool on_host = facts.vmm && facts.type == CU_MEMORYTYPE_HOST;
  if (call.base) *call.base = on_host ? 0 : facts.vmm ? facts.mapping_base : facts.base;
  if (call.size) *call.size = facts.vmm ? facts.mapping_size : facts.size;
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
