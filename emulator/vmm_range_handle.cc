// cuMemGetHandleForAddressRange: a descriptor of the memory behind an address range.
#include <fcntl.h>

#include "emulator/entry.h"

namespace cuvmm::emulator {

namespace {

Physical* memory_at(Emulator& e, Address address, Size size) {
  if (const Mapping* mapping = e.model.mapping_at(address)) {
    if (size > mapping->size - (address - mapping->base)) return nullptr;
    const auto found = e.physical.find(mapping->handle);
    return found == e.physical.end() ? nullptr : &found->second;
  }
  const PlainAllocation* plain = e.plain_at(address);
  if (!plain || size > plain->size - (address - plain->base)) return nullptr;
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

}  // namespace cuvmm::emulator
