// SPDX-License-Identifier: Apache-2.0
// The emulator's own declarations of the runtime's structures, compared with NVIDIA's header of any
// version.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "emulator/runtime/abi.h"
#include "emulator/runtime/error.h"

namespace cuvmm::runtime {
namespace {

#define SAME_PLACE(Type, member, CudaType, cuda_member) \
  EXPECT_EQ(offsetof(Type, member), offsetof(CudaType, cuda_member)) << #Type "::" #member

TEST(RuntimeAbi, DescriptorsBeginAsNvidias) {
  SAME_PLACE(ExternalMemoryHandle, object.type, cudaExternalMemoryHandleDesc, type);
  SAME_PLACE(ExternalMemoryHandle, object.handle, cudaExternalMemoryHandleDesc, handle);
  SAME_PLACE(ExternalMemoryHandle, size, cudaExternalMemoryHandleDesc, size);
  SAME_PLACE(ExternalMemoryHandle, flags, cudaExternalMemoryHandleDesc, flags);
  SAME_PLACE(ExternalSemaphoreHandle, object.handle, cudaExternalSemaphoreHandleDesc, handle);
  SAME_PLACE(ExternalSemaphoreHandle, flags, cudaExternalSemaphoreHandleDesc, flags);
  SAME_PLACE(ExternalBuffer, offset, cudaExternalMemoryBufferDesc, offset);
  SAME_PLACE(ExternalBuffer, size, cudaExternalMemoryBufferDesc, size);
  SAME_PLACE(ExternalBuffer, flags, cudaExternalMemoryBufferDesc, flags);
  SAME_PLACE(ExternalArray, format, cudaExternalMemoryMipmappedArrayDesc, formatDesc);
  SAME_PLACE(ExternalArray, extent, cudaExternalMemoryMipmappedArrayDesc, extent);
  SAME_PLACE(ExternalArray, flags, cudaExternalMemoryMipmappedArrayDesc, flags);
  SAME_PLACE(ExternalArray, levels, cudaExternalMemoryMipmappedArrayDesc, numLevels);
  SAME_PLACE(PointerAttributes, device, cudaPointerAttributes, device);
  SAME_PLACE(PointerAttributes, device_pointer, cudaPointerAttributes, devicePointer);
  SAME_PLACE(PointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);
  EXPECT_EQ(sizeof(ChannelFormat), sizeof(cudaChannelFormatDesc));
}

TEST(RuntimeAbi, TexturesAreDescribedAsNvidiasHeaderDoes) {
  SAME_PLACE(TextureResource, of, cudaResourceDesc, res);
  SAME_PLACE(TextureResource, of.linear.format, cudaResourceDesc, res.linear.desc);
  SAME_PLACE(TextureResource, of.linear.bytes, cudaResourceDesc, res.linear.sizeInBytes);
  SAME_PLACE(TextureResource, of.rows.width, cudaResourceDesc, res.pitch2D.width);
  SAME_PLACE(TextureResource, of.rows.height, cudaResourceDesc, res.pitch2D.height);
  SAME_PLACE(TextureResource, of.rows.pitch, cudaResourceDesc, res.pitch2D.pitchInBytes);
  SAME_PLACE(TextureReading, filter, cudaTextureDesc, filterMode);
  SAME_PLACE(TextureReading, read_mode, cudaTextureDesc, readMode);
  SAME_PLACE(TextureReading, srgb, cudaTextureDesc, sRGB);
  SAME_PLACE(TextureReading, border, cudaTextureDesc, borderColor);
  SAME_PLACE(TextureReading, normalized, cudaTextureDesc, normalizedCoords);
  SAME_PLACE(TextureReading, anisotropy, cudaTextureDesc, maxAnisotropy);
  SAME_PLACE(TextureReading, level_filter, cudaTextureDesc, mipmapFilterMode);
  SAME_PLACE(TextureReading, most_level, cudaTextureDesc, maxMipmapLevelClamp);
  SAME_PLACE(TextureReading, seamless_cube, cudaTextureDesc, seamlessCubemap);
  SAME_PLACE(TextureView, depth, cudaResourceViewDesc, depth);
  SAME_PLACE(TextureView, last_layer, cudaResourceViewDesc, lastLayer);
}

TEST(RuntimeAbi, DriverStructuresStandForTheRuntimes) {
  EXPECT_EQ(sizeof(CUipcMemHandle), sizeof(cudaIpcMemHandle_t));
  EXPECT_EQ(sizeof(CUipcEventHandle), sizeof(cudaIpcEventHandle_t));
  EXPECT_EQ(sizeof(CUmemPoolProps), sizeof(cudaMemPoolProps));
  EXPECT_EQ(sizeof(CUmemPoolPtrExportData), sizeof(cudaMemPoolPtrExportData));
  EXPECT_EQ(sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS),
            sizeof(cudaExternalSemaphoreSignalParams));
  EXPECT_EQ(sizeof(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS), sizeof(cudaExternalSemaphoreWaitParams));
}

// The size of a field in bytes in either layout; offset -1: the version lacks the field.
#define CUVMM_PROPERTY(field, offset_12, offset_13, bytes, attribute) \
  {#field, CUDART_VERSION < 13000 ? (offset_12) : (offset_13), bytes},
const struct {
  const char* field;
  int offset, bytes;
} kProperties[] = {
#include "emulator/runtime/properties.def"
};

TEST(RuntimeAbi, PropertiesLieWhereNvidiasHeaderHasThem) {
  const std::map<std::string, std::pair<std::size_t, std::size_t>> theirs = {
#define FIELD(name)                                                         \
  {                                                                         \
#name, { offsetof(cudaDeviceProp, name), sizeof(cudaDeviceProp::name) } \
  }
      FIELD(sharedMemPerBlock),
      FIELD(regsPerBlock),
      FIELD(warpSize),
      FIELD(major),
      FIELD(minor),
      FIELD(multiProcessorCount),
      FIELD(integrated),
      FIELD(surfaceAlignment),
      FIELD(pciBusID),
      FIELD(unifiedAddressing),
      FIELD(l2CacheSize),
      FIELD(sharedMemPerMultiprocessor),
      FIELD(concurrentManagedAccess),
      FIELD(sharedMemPerBlockOptin),
      FIELD(reservedSharedMemPerBlock),
      FIELD(hostRegisterSupported),
      FIELD(memoryPoolSupportedHandleTypes),
      FIELD(ipcEventSupported),
      FIELD(clusterLaunch),
      FIELD(unifiedFunctionPointers)};
  std::size_t compared = 0;
  for (const auto& property : kProperties) {
    const auto found = theirs.find(property.field);
    if (found == theirs.end()) continue;
    ++compared;
    EXPECT_EQ(property.offset, static_cast<int>(found->second.first)) << property.field;
    EXPECT_EQ(property.bytes, static_cast<int>(found->second.second)) << property.field;
  }
  EXPECT_EQ(compared, theirs.size());
}

}  // namespace
}  // namespace cuvmm::runtime
