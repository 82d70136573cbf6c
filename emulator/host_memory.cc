// Page-locked host memory. The CPU's address is the device's: all devices reach it.
#include <sys/mman.h>

#include "emulator/base.h"
#include "emulator/entry.h"
#include "emulator/export.h"

namespace cuvmm::emulator {

namespace {

constexpr Size kPage = 4096;

CUresult allocate_host(void** out, std::size_t size, unsigned flags) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    constexpr unsigned kKnown =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (!out || size == 0 || (flags & ~kKnown)) return CUDA_ERROR_INVALID_VALUE;
    if (size > SIZE_MAX - kPage) return CUDA_ERROR_OUT_OF_MEMORY;
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    const auto base = reinterpret_cast<Address>(at);
    e.host_blocks[base] = {base, size, &context, flags, false, e.next_host_id++};
    *out = at;
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult run_base(const calls::MemAllocHost& call) noexcept {
  return allocate_host(call.pp, call.bytesize, 0);
}

CUVMM_DRIVER_FUNCTION(cuMemHostAlloc, void** out, size_t size, unsigned flags) {
  return allocate_host(out, size, flags);
}

CUresult run_base(const calls::MemFreeHost& call) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    const auto found = e.host_blocks.find(reinterpret_cast<Address>(call.p));
    if (found == e.host_blocks.end() || found->second.registered) return CUDA_ERROR_INVALID_VALUE;
    munmap(call.p, found->second.size);
    e.host_blocks.erase(found);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuMemHostRegister_v2, void* host, size_t size, unsigned flags) {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    constexpr unsigned kKnown = 0xf;  // PORTABLE, DEVICEMAP, IOMEMORY, READ_ONLY
    if (!host || size == 0 || (flags & ~kKnown)) return CUDA_ERROR_INVALID_VALUE;
    const auto base = reinterpret_cast<Address>(host);
    if (e.space.owns(base, 1)) return CUDA_ERROR_INVALID_VALUE;
    const auto next = e.host_blocks.lower_bound(base);
    if (e.host_block_at(base) || (next != e.host_blocks.end() && next->first - base < size)) {
      return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    e.host_blocks[base] = {base, size, &context, flags, true, e.next_host_id++};
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuMemHostUnregister, void* host) {
  return locked([&](Emulator& e) -> CUresult {
    const auto found = e.host_blocks.find(reinterpret_cast<Address>(host));
    if (found == e.host_blocks.end() || !found->second.registered) {
      return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    }
    e.host_blocks.erase(found);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuMemHostGetDevicePointer_v2, CUdeviceptr* device, void* host,
                      unsigned flags) {
  return locked([&](Emulator& e) -> CUresult {
    const auto address = reinterpret_cast<Address>(host);
    if (!device || flags != 0 || !e.host_block_at(address)) return CUDA_ERROR_INVALID_VALUE;
    *device = address;
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuMemHostGetFlags, unsigned* flags, void* host) {
  return locked([&](Emulator& e) -> CUresult {
    const HostBlock* block = e.host_block_at(reinterpret_cast<Address>(host));
    if (!flags || !block) return CUDA_ERROR_INVALID_VALUE;
    *flags = block->flags;
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
