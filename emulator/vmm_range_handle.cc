// cuMemGetHandleForAddressRange: a descriptor of the memory behind an address range.
#include <fcntl.h>

#include "emulator/entry.h"

namespace cuvmm::emulator {

namespace {

Physical* memory_at(Emulator& e, Address address, Size size) {
  if (const Mapping* mapping = e.model.mapping_at(address)) {
    if (size > mapping->size - (address - mapping->base)) return nullptr;
    const auto found = e.physical.find(mapping->handle);
    return found == e.physical.end() || e.teams.contains(mapping->handle) ? nullptr
                                                                          : &found->second;
  }
  const PlainAllocation* plain = e.plain_at(address);
  if (!plain || plain->external || size > plain->size - (address - plain->base)) return nullptr;
  return const_cast<Physical*>(&plain->memory);
}

}  // namespace

CUresult perform(Emulator& e, const calls::MemGetHandleForAddressRange& call, const Facts&,
                 const Retired&) {
  if (!call.handle) return CUDA_ERROR_INVALID_VALUE;
  Physical* memory = memory_at(e, call.dptr, call.size);
  if (!memory) {
    // One memfd stands for one allocation: a range over several mappings is legal, not emulated.
    const bool several = e.model.mapping_at(call.dptr) != nullptr;
    return several ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
  }
  const int fd = memory->descriptor();
  const int exported = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (exported < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *static_cast<int*>(call.handle) = exported;
  return CUDA_SUCCESS;
}

void write_refused(const Emulator& e, const calls::MemGetHandleForAddressRange& call,
                   CUresult refused) {
  // Arguments that are bad on their face leave the place alone; a range that is not all mapped is
  // found out later, when "no descriptor" is already written (observation dmabuf/hole).
  const Size page = e.profile.platform.host_page;
  const bool looked_up =
      call.handle &&
      static_cast<unsigned>(call.handleType) == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD &&
      call.flags <= 1 && call.size != 0 && call.dptr % page == 0 && call.size % page == 0;
  if (refused == CUDA_ERROR_INVALID_VALUE && looked_up) *static_cast<int*>(call.handle) = -1;
}

}  // namespace cuvmm::emulator
