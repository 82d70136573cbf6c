// SPDX-License-Identifier: Apache-2.0
// cuMemGetHandleForAddressRange: a descriptor of the memory behind an address range.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "emulator/vmm/vmm_entry.h"

namespace cuvmm::emulator {

namespace {

// The memory behind a range that lies in one mapping or plain allocation.
Physical* memory_at(Emulator& e, Address address, Size size) {
  if (const Mapping* mapping = e.model.mapping_at(address)) {
    if (size > mapping->size - (address - mapping->base)) return nullptr;
    return e.teams.contains(mapping->handle) ? nullptr : e.physical.find(mapping->handle);
  }
  PlainAllocation* plain = e.plain.at(address);
  if (!plain || plain->external || size > plain->size - (address - plain->base)) return nullptr;
  return &plain->memory;
}

// Whether a range begins in a plain allocation, and ends in the block of the driver that the
// allocation was cut from (recorded): whole granules, or a pool's chunk. The emulator gives each
// allocation its own block, and the descriptor has only the range's size.
bool in_block(const Emulator& e, Address address, Size size) {
  const PlainAllocation* plain = e.plain.at(address);
  if (!plain || plain->external || !plain->on_device()) return false;
  const Size step = plain->pool ? Size{32} << 20 : Size{kGranule};
  const Size block = (plain->size + step - 1) / step * step;
  const Size offset = address - plain->base;
  return offset < block && size <= block - offset;
}

// A pool's chunk can be exported only from its first byte on (recorded). Here each memory of a pool
// begins a chunk.
bool inside_chunk(const Emulator& e, Address address) {
  const PlainAllocation* plain = e.plain.at(address);
  return plain && plain->pool && address != plain->base;
}

// The error for a range of mappings whose memory the driver does not export.
CUresult refusal(const Emulator& e, const calls::MemGetHandleForAddressRange& call) {
  for (auto at = e.model.first_mapping_after(call.dptr);
       at != e.model.mappings().end() &&
       (at->first < call.dptr || at->first - call.dptr < call.size);
       ++at) {
    if (!e.physical.find(at->second.handle) || e.teams.contains(at->second.handle)) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  if (call.flags != 0 && e.profile.has(Quirk::kRangePcie)) return info(Quirk::kRangePcie).code;
  return CUDA_SUCCESS;
}

// Several allocations share no file: the descriptor has the range's size, and bytes of its own.
// CUDA accepts it nowhere, and only a driver of another device could tell the difference.
int stand_in(Size size) {
  const int fd = memfd_create("cuvmm-dma-buf", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(size)) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

}  // namespace

CUresult perform(Emulator& e, const calls::MemGetHandleForAddressRange& call, const Facts&,
                 const Retired&) {
  if (!call.handle) return CUDA_ERROR_INVALID_VALUE;
  const bool mapped = e.model.mapping_at(call.dptr) != nullptr;
  if (mapped) {
    const CUresult refused = refusal(e, call);
    if (refused != CUDA_SUCCESS) return refused;
  }
  if (!mapped) {
    if (!in_block(e, call.dptr, call.size)) return CUDA_ERROR_INVALID_VALUE;
    if (call.flags != 0 && e.profile.has(Quirk::kRangePcie)) return info(Quirk::kRangePcie).code;
    if (inside_chunk(e, call.dptr)) return CUDA_ERROR_INVALID_VALUE;
  }
  Physical* memory = memory_at(e, call.dptr, call.size);
  int exported = -1;
  errno = 0;
  if (memory) {
    const int fd = memory->descriptor();
    if (fd >= 0) exported = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  } else {
    exported = stand_in(call.size);
  }
  // No descriptor is left (libfabric 12828).
  if (exported < 0 && (errno == EMFILE || errno == ENFILE)) return CUDA_ERROR_OPERATING_SYSTEM;
  if (exported < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *static_cast<int*>(call.handle) = exported;
  return CUDA_SUCCESS;
}

void write_refused(const Emulator& e, const calls::MemGetHandleForAddressRange& call,
                   CUresult refused) {
  // The driver writes nothing if the arguments themselves are invalid. It writes "no descriptor"
  // before it finds that the range has a hole or the wrong memory (observation dmabuf/hole).
  const Size page = e.profile.platform.host_page;
  const bool looked_up =
      call.handle &&
      static_cast<unsigned>(call.handleType) == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD &&
      call.flags <= 1 && call.size != 0 && call.dptr % page == 0 && call.size % page == 0;
  const bool found_out =
      refused == CUDA_ERROR_INVALID_VALUE || refused == info(Rule::kRangeCompressed).code;
  if (found_out && looked_up) *static_cast<int*>(call.handle) = -1;
}

}  // namespace cuvmm::emulator
