// SPDX-License-Identifier: Apache-2.0
// Memory of other APIs.
#include <cstring>

#include "emulator/runtime/abi.h"
#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/channel_format.h"
#include "emulator/runtime/for_driver.h"

namespace cuvmm::runtime {

CUVMM_RUNTIME_CALL(cudaImportExternalMemory, (memory, desc), CUexternalMemory* memory,
                   const ExternalMemoryHandle* desc) {
  if (!memory || !desc) return cudaErrorInvalidValue;
  const auto handle = for_driver<CUDA_EXTERNAL_MEMORY_HANDLE_DESC>(desc);
  return ask(driver.cuImportExternalMemory, memory, &handle);
}

CUVMM_RUNTIME_CALL(cudaExternalMemoryGetMappedBuffer, (pointer, memory, desc), void** pointer,
                   CUexternalMemory memory, const ExternalBuffer* desc) {
  if (!pointer || !desc) return cudaErrorInvalidValue;
  const auto buffer = for_driver<CUDA_EXTERNAL_MEMORY_BUFFER_DESC>(desc);
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
  if (kMajor >= 13) std::memcpy(mapped.reserved, desc + 1, sizeof mapped.reserved);
  return ask(driver.cuExternalMemoryGetMappedMipmappedArray, array, memory, &mapped);
}

// A stub cannot stand for this function, because it returns a structure.
CUVMM_EXPORT(ChannelFormat, cudaCreateChannelDesc, int x, int y, int z, int w, int kind) {
  return {{x, y, z, w}, kind};
}

CUVMM_RUNTIME_CALL(cudaDestroyExternalMemory, (memory), CUexternalMemory memory) {
  return ask(driver.cuDestroyExternalMemory, memory);
}

}  // namespace cuvmm::runtime
