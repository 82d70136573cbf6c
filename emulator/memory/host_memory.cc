// SPDX-License-Identifier: Apache-2.0
// Page-locked host memory. The CPU's address is the device's: all devices reach it.
#include <sys/mman.h>

#include "api/sizes.h"
#include "emulator/context/captured.h"
#include "emulator/entry/base.h"
#include "emulator/entry/export.h"
#include "emulator/entry/locked.h"

namespace cuvmm::emulator {

namespace {

// Mapped memory that the current device may touch passes for host memory (recorded).
bool mapped_for_use(const Emulator& e, Address address) {
  const Mapping* mapping = e.model.mapping_at(address);
  const Context* context = e.current_context();
  if (!mapping || !context) return false;
  return ((mapping->access.read | mapping->access.write) >> context->device) & 1;
}

// Whether the program may use the first and the last page, and write them unless they are only to
// be read. Kernels before 5.14 cannot say: then yes.
bool can_be_locked(Address base, Size size, bool only_read) {
  constexpr int kPopulateRead = 22, kPopulateWrite = 23;  // newer than many a <sys/mman.h>
  const auto usable = [](Address at, int how) {
    return madvise(reinterpret_cast<void*>(at / kPage * kPage), kPage, how) == 0;
  };
  char mine = 0;  // on a page that can be written
  if (!usable(reinterpret_cast<Address>(&mine), kPopulateWrite)) return true;
  const int how = only_read ? kPopulateRead : kPopulateWrite;
  return usable(base, how) && usable(base + size - 1, how);
}

CUresult allocate_host(void** out, std::size_t size, unsigned flags) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    constexpr unsigned kKnown =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (!out || (flags & ~kKnown)) return CUDA_ERROR_INVALID_VALUE;
    if (size == 0) return *out = nullptr, CUDA_SUCCESS;
    if (size > SIZE_MAX - kPage) return CUDA_ERROR_OUT_OF_MEMORY;
    void* at = e.host.allocate(context, size, flags);
    if (!at) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = at;
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult run_base(const calls::MemAllocHost& call) noexcept {
  return allocate_host(call.pp, call.bytesize, 0);
}

CUVMM_DRIVER_FUNCTION(cuMemHostAlloc, void** out, size_t size, unsigned flags) {
  if (const CUresult refused = refuse_unsafe_in_capture(); refused != CUDA_SUCCESS) {
    return refused;
  }
  return allocate_host(out, size, flags);
}

CUresult run_base(const calls::MemFreeHost& call) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    if (!call.p) return CUDA_SUCCESS;
    return e.host.free(reinterpret_cast<Address>(call.p)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUVMM_DRIVER_FUNCTION(cuMemHostRegister_v2, void* host, size_t size, unsigned flags) {
  if (const CUresult refused = refuse_unsafe_in_capture(); refused != CUDA_SUCCESS) {
    return refused;
  }
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    // The order in which a driver finds what is wrong (recorded).
    const auto base = reinterpret_cast<Address>(host);
    constexpr Address kUserEnd = Address{1} << 47;
    constexpr Address kGpuEnd = Address{1} << 57;  ///< of what a GPU can address
    constexpr Size kMostLocked = Size{1} << 43;
    if (!host || size == 0 || (flags & ~kKnown)) return CUDA_ERROR_INVALID_VALUE;
    if (size - 1 > UINT64_MAX - base) return CUDA_ERROR_INVALID_VALUE;
    if (size > kGpuEnd || base > kGpuEnd - size) return CUDA_ERROR_NOT_SUPPORTED;
    // The first page is nobody's, nor is what the CPU cannot address.
    if (base < kPage) return CUDA_ERROR_INVALID_VALUE;
    if (base >= kUserEnd) {
      return size > kMostLocked ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    }
    if (e.space.owns(base, 1)) return CUDA_ERROR_INVALID_VALUE;
    const HostBlock* there = e.host.at(base);
    if (there && !there->registered) return CUDA_ERROR_INVALID_VALUE;
    if (there || e.host.begins_in(base, size)) {
      return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    if (size > kMostLocked) return CUDA_ERROR_OUT_OF_MEMORY;
    // What is no memory of a device is not IOMEMORY.
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY) return CUDA_ERROR_INVALID_VALUE;
    if (!can_be_locked(base, size, flags & CU_MEMHOSTREGISTER_READ_ONLY)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    e.host.lock(context, base, size, flags);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuMemHostUnregister, void* host) {
  if (const CUresult refused = refuse_unsafe_in_capture(); refused != CUDA_SUCCESS) {
    return refused;
  }
  return locked([&](Emulator& e) -> CUresult {
    const auto address = reinterpret_cast<Address>(host);
    if (e.host.unlock(address)) return CUDA_SUCCESS;
    const bool another =
        !host || e.plain.at(address) || e.host.at(address) || e.model.mapping_at(address);
    return another ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  });
}

CUVMM_DRIVER_FUNCTION(cuMemHostGetDevicePointer_v2, CUdeviceptr* device, void* host,
                      unsigned flags) {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    const auto address = reinterpret_cast<Address>(host);
    const bool known = e.host.at(address) || mapped_for_use(e, address);
    if (!device || flags != 0 || !known) return CUDA_ERROR_INVALID_VALUE;
    // Of mapped memory the mapping's beginning, wherever in it (recorded).
    const Mapping* mapping = e.model.mapping_at(address);
    *device = mapping ? mapping->base : address;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuMemHostGetFlags, unsigned* flags, void* host) {
  // Before a context is looked for (recorded).
  if (!flags && ready()) return CUDA_ERROR_INVALID_VALUE;
  return with_context([&](Emulator& e, Context&) -> CUresult {
    const auto address = reinterpret_cast<Address>(host);
    const HostBlock* block = e.host.at(address);
    // All of it is mapped for devices, whatever was asked for; that memory is only read is not
    // told.
    constexpr unsigned kTold = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED;
    const unsigned told =
        block && block->registered ? unsigned{CU_MEMHOSTREGISTER_PORTABLE} : kTold;
    if (block) {
      *flags = (e.host.flags(*block) & told) | CU_MEMHOSTALLOC_DEVICEMAP;
    } else if (mapped_for_use(e, address)) {
      *flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
