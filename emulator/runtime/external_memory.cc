// Memory of other APIs. The runtime's descriptors lack the driver's reserved words in CUDA 12, so
// they are copied, never passed on.
#include <cstring>

#include "emulator/runtime/abi.h"
#include "emulator/runtime/channel_format.h"
#include "emulator/runtime/export.h"

namespace cuvmm::runtime {

CUVMM_RUNTIME_CALL(cudaImportExternalMemory, (memory, desc), CUexternalMemory* memory,
                   const ExternalMemoryHandle* desc) {
  if (!memory || !desc) return cudaErrorInvalidValue;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC handle{};
  handle.type = static_cast<CUexternalMemoryHandleType>(desc->object.type);
  static_assert(sizeof handle.handle == sizeof desc->object.handle);
  std::memcpy(&handle.handle, &desc->object.handle, sizeof handle.handle);
  handle.size = desc->size;
  handle.flags = desc->flags;
  return ask(driver.cuImportExternalMemory, memory, &handle);
}

CUVMM_RUNTIME_CALL(cudaExternalMemoryGetMappedBuffer, (pointer, memory, desc), void** pointer,
                   CUexternalMemory memory, const ExternalBuffer* desc) {
  if (!pointer || !desc) return cudaErrorInvalidValue;
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer{};
  buffer.offset = desc->offset;
  buffer.size = desc->size;
  buffer.flags = desc->flags;
  return ask(driver.cuExternalMemoryGetMappedBuffer, reinterpret_cast<CUdeviceptr*>(pointer),
             memory, &buffer);
}

CUVMM_RUNTIME_CALL(cudaExternalMemoryGetMappedMipmappedArray, (array, memory, desc),
                   CUmipmappedArray* array, CUexternalMemory memory, const ExternalArray* desc) {
  if (!array || !desc) return cudaErrorInvalidValue;
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC mapped{};
  if (!convert(desc->format, mapped.arrayDesc)) return cudaErrorInvalidChannelDescriptor;
  mapped.offset = desc->offset;
  mapped.arrayDesc.Width = desc->extent.width;
  mapped.arrayDesc.Height = desc->extent.height;
  mapped.arrayDesc.Depth = desc->extent.depth;
  mapped.arrayDesc.Flags = desc->flags;
  mapped.numLevels = desc->levels;
  return ask(driver.cuExternalMemoryGetMappedMipmappedArray, array, memory, &mapped);
}

// Returns a structure, so it cannot be left to a stub.
CUVMM_RUNTIME_SYMBOL(ChannelFormat, cudaCreateChannelDesc, int x, int y, int z, int w, int kind) {
  return {{x, y, z, w}, kind};
}

CUVMM_RUNTIME_CALL(cudaDestroyExternalMemory, (memory), CUexternalMemory memory) {
  return ask(driver.cuDestroyExternalMemory, memory);
}

}  // namespace cuvmm::runtime
