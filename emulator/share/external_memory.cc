// SPDX-License-Identifier: Apache-2.0
// cuImportExternalMemory and the mappings of imported memory: exported allocations under another
// name.
#include <fcntl.h>
#include <unistd.h>

#include "api/location.h"
#include "emulator/base/refusal.h"
#include "emulator/base/system.h"
#include "emulator/core/quirks.h"
#include "emulator/machine/shareable.h"
#include "emulator/share/share_entry.h"

namespace cuvmm::emulator {

namespace {

bool by_descriptor(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* desc) {
  return desc && desc->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
}

// The answer of an H200 that refuses an import in a context of another device.
std::optional<CUresult> quirk_of(const Emulator& e, const CUmemAllocationProp& external) {
  const Context* context = e.current_context();
  const bool elsewhere =
      context && is_device(external.location) && device_of(external.location) != context->device;
  return answer(e, Quirk::kExtCompressedElsewhere,
                elsewhere && external.allocFlags.compressionType != 0);
}

}  // namespace

void add_facts(const Emulator& e, const calls::ImportExternalMemory& call, Facts& facts) {
  if (!by_descriptor(call.memHandleDesc)) return;
  const auto found = read_shareable(call.memHandleDesc->handle.fd, e.device_count());
  facts.sharing.descriptor_valid = found ? Facts::Answer::kYes : Facts::Answer::kNo;
  if (found) facts.external.object_size = found->size;
}

void write_refused(const Emulator&, const calls::ImportExternalMemory& call, CUresult refused) {
  // The driver closes the descriptor although it refuses the import: ext/import-fd-devnull.
  if (refused == CUDA_ERROR_UNKNOWN && by_descriptor(call.memHandleDesc))
    sys_close(call.memHandleDesc->handle.fd);
}

CUresult perform(Emulator& e, const calls::ImportExternalMemory& call, const Facts&,
                 const Retired&) {
  if (!call.extMem_out || !call.memHandleDesc || call.memHandleDesc->size == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!by_descriptor(call.memHandleDesc)) return CUDA_ERROR_NOT_SUPPORTED;
  const int given = call.memHandleDesc->handle.fd;
  // The program may have replaced the descriptor since the check: only the copy made here is used.
  const int fd = fcntl(given, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return CUDA_ERROR_INVALID_VALUE;
  Physical memory(fd);
  const auto found = read_shareable(fd, e.device_count());
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  if (const auto odd = quirk_of(e, found->prop)) {
    sys_close(given);
    return *odd;
  }
  memory.describe(found->size, found->prop);
  CUexternalMemory handle = e.external.add(ImportedMemory{std::move(memory), e.current_context()});
  // After success the descriptor belongs to the driver, which closes it at once (observation
  // ext/import-vmm-fd).
  sys_close(given);
  *call.extMem_out = handle;
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::ExternalMemoryGetMappedBuffer& call, const Facts&,
                 const Retired&) {
  ImportedMemory* found = e.external.find(call.extMem);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  if (!call.devPtr || !call.bufferDesc) return CUDA_ERROR_INVALID_VALUE;
  Physical& object = found->memory;
  const Size offset = call.bufferDesc->offset;
  const Size size = call.bufferDesc->size;
  // Holds even if a profile accepts the call: no byte outside the object is ever mapped.
  if (size == 0 || offset > object.size() || size > object.size() - offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Context* context = found->context;
  if (!context || !context->alive) return CUDA_ERROR_INVALID_CONTEXT;
  const int fd = object.descriptor();
  const int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  Physical memory(copy);
  memory.describe(object.size(), object.prop());
  const PlainAllocation* buffer = e.plain.add({.size = size,
                                               .context = context,
                                               .memory = std::move(memory),
                                               .offset = offset,
                                               .external = true});
  if (!buffer) return CUDA_ERROR_OUT_OF_MEMORY;
  *call.devPtr = buffer->base;
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::ExternalMemoryGetMappedMipmappedArray& call,
                 const Facts&, const Retired&) {
  if (!call.mipmap || !call.mipmapDesc) return CUDA_ERROR_INVALID_VALUE;
  if (!e.external.find(call.extMem)) return CUDA_ERROR_INVALID_HANDLE;
  static std::atomic<bool> printed{false};
  return refuse_once(printed,
                     "cuExternalMemoryGetMappedMipmappedArray (no arrays of external memory)");
}

CUresult perform(Emulator& e, const calls::DestroyExternalMemory& call, const Facts&,
                 const Retired&) {
  // Buffers have memory of their own, and live until they are freed.
  if (!e.external.erase(call.extMem)) return CUDA_ERROR_INVALID_HANDLE;
  e.physical.drop_unheld();  // the import may have been the last holder of memory released here
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
