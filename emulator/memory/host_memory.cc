// SPDX-License-Identifier: Apache-2.0
// Page-locked host memory. All devices reach it at the CPU's address.
#include <sys/mman.h>

#include "api/sizes.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/memory/memory_entry.h"

namespace cuvmm::emulator {

namespace {

constexpr Size kMostLocked = Size{1} << 43;

// Whether memory at an address is mapped for the current device: such memory is accepted as host
// memory (recorded).
bool mapped_for_use(const Emulator& e, Address address) {
  const Mapping* mapping = e.model.mapping_at(address);
  const Context* context = e.current_context();
  if (!mapping || !context) return false;
  return ((mapping->access.read | mapping->access.write) >> context->device) & 1;
}

// Whether the program may read the first and the last page, and write them unless `only_read`.
// Kernels before 5.14 cannot answer: then true.
bool can_be_locked(Address base, Size size, bool only_read) {
  // Newer than many versions of <sys/mman.h>.
  constexpr int kPopulateRead = 22, kPopulateWrite = 23;
  const auto usable = [](Address at, int how) {
    return madvise(reinterpret_cast<void*>(at / kPage * kPage), kPage, how) == 0;
  };
  char mine = 0;  // lies on a page that can be written
  if (!usable(reinterpret_cast<Address>(&mine), kPopulateWrite)) return true;
  const int how = only_read ? kPopulateRead : kPopulateWrite;
  return usable(base, how) && usable(base + size - 1, how);
}

CUresult allocate_host(Emulator& e, void** out, std::size_t size, unsigned flags) {
  Context* const context = e.current_context();
  constexpr unsigned kKnown =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (!context) return e.no_context();
  if (!out || (flags & ~kKnown)) return CUDA_ERROR_INVALID_VALUE;
  if (size == 0) return *out = nullptr, CUDA_SUCCESS;
  if (size > SIZE_MAX - kPage) return CUDA_ERROR_OUT_OF_MEMORY;
  void* at = e.host.allocate(*context, size, flags);
  if (!at) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = at;
  return CUDA_SUCCESS;
}

Address address_of(const void* host) { return reinterpret_cast<Address>(host); }

// Checks a range independently of registered memory, in the order in which a driver checks it
// (recorded): CUDA_SUCCESS for a valid range.
CUresult check_range(const Emulator& e, Address base, Size size) {
  constexpr Address kUserEnd = Address{1} << 47;
  constexpr Address kGpuEnd = Address{1} << 57;  ///< the end of the addresses that a GPU can use
  if (base == 0 || size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (size - 1 > UINT64_MAX - base) return CUDA_ERROR_INVALID_VALUE;
  if (size > kGpuEnd || base > kGpuEnd - size) return CUDA_ERROR_NOT_SUPPORTED;
  // No program has memory on the first page, or at addresses that the CPU cannot use.
  if (base < kPage) return CUDA_ERROR_INVALID_VALUE;
  if (base >= kUserEnd) {
    return size > kMostLocked ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
  }
  return e.space.owns(base, 1) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

CUresult perform(Emulator& e, const calls::MemAllocHost& call, const Facts&, const Retired&) {
  return allocate_host(e, call.pp, call.bytesize, 0);
}

CUresult perform(Emulator& e, const calls::MemHostAlloc& call, const Facts&, const Retired&) {
  return allocate_host(e, call.pp, call.bytesize, call.Flags);
}

void forgive(const Emulator& e, const calls::MemFreeHost& call, Violations& violations) {
  const HostBlock* block = e.host.at(address_of(call.p));
  if (block && block->base == address_of(call.p) && !block->registered) violations = {};
}

CUresult perform(Emulator& e, const calls::MemFreeHost& call, const Facts&, const Retired&) {
  if (!call.p) return CUDA_SUCCESS;
  return e.host.free(address_of(call.p)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void forgive(const Emulator& e, const calls::MemHostRegister& call, Violations& violations) {
  const Address base = address_of(call.p);
  const bool first = check_range(e, base, call.bytesize) != CUDA_SUCCESS;
  const bool there = !first && (e.host.at(base) || e.host.begins_in(base, call.bytesize));
  if (!first && there) return;
  violations.erase_if([](const Violation& v) {
    return v.rule == Rule::kRegisterOnce || v.rule == Rule::kRegisterPageable;
  });
}

CUresult perform(Emulator& e, const calls::MemHostRegister& call, const Facts&, const Retired&) {
  constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                              CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
  const auto base = address_of(call.p);
  const Size size = call.bytesize;
  Context* const context = e.current_context();
  if (!context) return e.no_context();
  if (call.Flags & ~kKnown) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult wrong = check_range(e, base, size); wrong != CUDA_SUCCESS) return wrong;
  const HostBlock* there = e.host.at(base);
  if (there && !there->registered) return CUDA_ERROR_INVALID_VALUE;
  if (there || e.host.begins_in(base, size)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  if (size > kMostLocked) return CUDA_ERROR_OUT_OF_MEMORY;
  // Memory of the host is not IOMEMORY.
  if (call.Flags & CU_MEMHOSTREGISTER_IOMEMORY) return CUDA_ERROR_INVALID_VALUE;
  if (!can_be_locked(base, size, call.Flags & CU_MEMHOSTREGISTER_READ_ONLY)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  e.host.lock(*context, base, size, call.Flags);
  return CUDA_SUCCESS;
}

void forgive(const Emulator& e, const calls::MemHostUnregister& call, Violations& violations) {
  const Address address = address_of(call.p);
  const HostBlock* block = e.host.at(address);
  const bool whole = block && block->base == address && block->registered;
  const bool another = e.plain.at(address) || block;
  violations.erase_if(
      [&](const Violation& v) { return whole || (another && v.rule == Rule::kUnregisterKnown); });
}

CUresult perform(Emulator& e, const calls::MemHostUnregister& call, const Facts&, const Retired&) {
  const auto address = address_of(call.p);
  if (e.host.unlock(address)) return CUDA_SUCCESS;
  const bool another =
      !call.p || e.plain.at(address) || e.host.at(address) || e.model.mapping_at(address);
  return another ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUVMM_DRIVER_FUNCTION(cuMemHostGetDevicePointer_v2, CUdeviceptr* device, void* host,
                      unsigned flags) {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    const auto address = reinterpret_cast<Address>(host);
    const bool known = e.host.at(address) || mapped_for_use(e, address);
    if (!device || flags != 0 || !known) return CUDA_ERROR_INVALID_VALUE;
    // For mapped memory the beginning of the mapping, whatever address in it was given (recorded).
    const Mapping* mapping = e.model.mapping_at(address);
    *device = mapping ? mapping->base : address;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuMemHostGetFlags, unsigned* flags, void* host) {
  // The call checks `flags` before it looks for a context (recorded).
  if (!flags && ready()) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Emulator& e, Context&) -> CUresult {
    const auto address = reinterpret_cast<Address>(host);
    const HostBlock* block = e.host.at(address);
    // All page-locked memory is mapped for devices, whatever flags the program gave; READ_ONLY is
    // not reported.
    constexpr unsigned kAllocated = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED;
    const unsigned reported =
        block && block->registered ? unsigned{CU_MEMHOSTREGISTER_PORTABLE} : kAllocated;
    if (block) {
      *flags = (e.host.flags(*block) & reported) | CU_MEMHOSTALLOC_DEVICEMAP;
    } else if (mapped_for_use(e, address)) {
      *flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
