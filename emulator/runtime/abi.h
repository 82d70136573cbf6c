// SPDX-License-Identifier: Apache-2.0
// Structures of the runtime API, in the part that CUDA 12 and 13 share: CUDA 13 only appends the
// reserved words that the driver's structures have. abi_test.cc compares the offsets with NVIDIA's
// header.
#pragma once

#include <cstddef>

namespace cuvmm::runtime {

/// The first fields of cudaExternalMemoryHandleDesc and of cudaExternalSemaphoreHandleDesc.
struct ExternalHandle {
  int type;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
    const void* object;  ///< NvSciBuf, NvSciSync
  } handle;
};
struct ExternalMemoryHandle {
  ExternalHandle object;
  unsigned long long size;  ///< in bytes
  unsigned flags;
};
struct ExternalSemaphoreHandle {
  ExternalHandle object;
  unsigned flags;
};

/// cudaExternalMemoryBufferDesc; offset and size in bytes.
struct ExternalBuffer {
  unsigned long long offset;
  unsigned long long size;
  unsigned flags;
};

/// cudaChannelFormatDesc: bits of each channel, and a cudaChannelFormatKind.
struct ChannelFormat {
  int bits[4];
  int kind;
};

/// cudaExternalMemoryMipmappedArrayDesc; the extent is in elements.
struct ExternalArray {
  unsigned long long offset;
  ChannelFormat format;
  struct {
    std::size_t width, height, depth;
  } extent;
  unsigned flags;
  unsigned levels;
};

/// cudaPointerAttributes. CUDA 13 appends eight reserved words.
struct PointerAttributes {
  int type;  ///< cudaMemoryType: 0 unregistered, 1 host, 2 device, 3 managed
  int device;
  void* device_pointer;
  void* host_pointer;
};

/// cudaResourceDesc. CUDA 13 appends a word of flags, which must be 0.
struct TextureResource {
  int type;
  union {
    void* array;  ///< or a mipmapped array
    struct {
      void* memory;
      ChannelFormat format;
      std::size_t bytes;
    } linear;
    struct {
      void* memory;
      ChannelFormat format;
      std::size_t width, height;  ///< in elements
      std::size_t pitch;          ///< in bytes
    } rows;
  } of;
};

/// cudaTextureDesc.
struct TextureReading {
  int address_modes[3];
  int filter;     ///< 0: the nearest element, 1: linear
  int read_mode;  ///< 0: the element, 1: a fraction of the largest integer
  int srgb;
  float border[4];
  int normalized;  ///< coordinates from 0 to 1
  unsigned anisotropy;
  int level_filter;
  float level_bias, least_level, most_level;
  int no_trilinear, seamless_cube;
};

/// The first fields of cudaResourceViewDesc.
struct TextureView {
  int format;
  std::size_t width, height, depth;
  unsigned first_level, last_level, first_layer, last_layer;
};

}  // namespace cuvmm::runtime
