// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects.
#include <algorithm>

#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/channel_format.h"

namespace cuvmm::runtime {

namespace {

enum ResourceType { kArray = 0, kMipmappedArray = 1, kLinear = 2, kPitch = 3 };
enum ReadMode { kElement = 0, kFraction = 1 };

Error convert(const ChannelFormat& from, CUarray_format& format, unsigned& channels) {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  if (!runtime::convert(from, shape)) return cudaErrorInvalidChannelDescriptor;
  format = shape.Format;
  channels = shape.NumChannels;
  return cudaSuccess;
}

Error convert(const TextureResource& from, CUDA_RESOURCE_DESC& out) {
  out = {};
  switch (from.type) {
    case kArray:
      out.resType = CU_RESOURCE_TYPE_ARRAY;
      out.res.array.hArray = static_cast<CUarray>(from.of.array);
      return cudaSuccess;
    case kMipmappedArray:
      out.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
      out.res.mipmap.hMipmappedArray = static_cast<CUmipmappedArray>(from.of.array);
      return cudaSuccess;
    case kLinear:
      out.resType = CU_RESOURCE_TYPE_LINEAR;
      out.res.linear.devPtr = address(from.of.linear.memory);
      out.res.linear.sizeInBytes = from.of.linear.bytes;
      return convert(from.of.linear.format, out.res.linear.format, out.res.linear.numChannels);
    case kPitch:
      out.resType = CU_RESOURCE_TYPE_PITCH2D;
      out.res.pitch2D.devPtr = address(from.of.rows.memory);
      out.res.pitch2D.width = from.of.rows.width;
      out.res.pitch2D.height = from.of.rows.height;
      out.res.pitch2D.pitchInBytes = from.of.rows.pitch;
      return convert(from.of.rows.format, out.res.pitch2D.format, out.res.pitch2D.numChannels);
    default:
      return cudaErrorInvalidValue;
  }
}

CUarray_format format_in(const Driver& driver, const CUDA_RESOURCE_DESC& resource) {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_LINEAR:
      return resource.res.linear.format;
    case CU_RESOURCE_TYPE_PITCH2D:
      return resource.res.pitch2D.format;
    case CU_RESOURCE_TYPE_ARRAY:
      ask(driver.cuArray3DGetDescriptor, &shape, resource.res.array.hArray);
      return shape.Format;
    default:
      return CU_AD_FORMAT_FLOAT;
  }
}

// The runtime refuses what has no meaning: a fraction of an integer of 32 bits, and a mean of
// integers.
Error check(CUarray_format format, const TextureReading& reading) {
  const bool number = format == CU_AD_FORMAT_FLOAT || format == CU_AD_FORMAT_HALF;
  const bool wide = format == CU_AD_FORMAT_SIGNED_INT32 || format == CU_AD_FORMAT_UNSIGNED_INT32;
  if (reading.read_mode == kFraction && wide) return cudaErrorInvalidNormSetting;
  const bool linear = reading.filter == CU_TR_FILTER_MODE_LINEAR;
  const bool plain = static_cast<int>(format) <= static_cast<int>(CU_AD_FORMAT_FLOAT);
  if (linear && plain && !number && reading.read_mode == kElement)
    return cudaErrorInvalidFilterSetting;
  return cudaSuccess;
}

CUDA_TEXTURE_DESC convert(const TextureReading& from) {
  constexpr unsigned kNoTrilinear = 0x20, kSeamless = 0x40;  // older headers lack the names
  CUDA_TEXTURE_DESC out{};
  for (int axis = 0; axis < 3; ++axis)
    out.addressMode[axis] = static_cast<CUaddress_mode>(from.address_modes[axis]);
  out.filterMode = static_cast<CUfilter_mode>(from.filter);
  if (from.read_mode == kElement) out.flags |= CU_TRSF_READ_AS_INTEGER;
  if (from.normalized) out.flags |= CU_TRSF_NORMALIZED_COORDINATES;
  if (from.srgb) out.flags |= CU_TRSF_SRGB;
  if (from.no_trilinear) out.flags |= kNoTrilinear;
  if (from.seamless_cube) out.flags |= kSeamless;
  out.maxAnisotropy = from.anisotropy;
  out.mipmapFilterMode = static_cast<CUfilter_mode>(from.level_filter);
  out.mipmapLevelBias = from.level_bias;
  out.minMipmapLevelClamp = from.least_level;
  out.maxMipmapLevelClamp = from.most_level;
  std::copy_n(from.border, 4, out.borderColor);
  return out;
}

CUDA_RESOURCE_VIEW_DESC convert(const TextureView& from) {
  CUDA_RESOURCE_VIEW_DESC out{};
  out.format = static_cast<CUresourceViewFormat>(from.format);
  out.width = from.width;
  out.height = from.height;
  out.depth = from.depth;
  out.firstMipmapLevel = from.first_level;
  out.lastMipmapLevel = from.last_level;
  out.firstLayer = from.first_layer;
  out.lastLayer = from.last_layer;
  return out;
}

}  // namespace

CUVMM_RUNTIME_CALL(cudaCreateTextureObject, (object, resource, reading, view), CUtexObject* object,
                   const TextureResource* resource, const TextureReading* reading,
                   const TextureView* view) {
  CUDA_RESOURCE_DESC from{};
  if (!object || !resource || !reading) return cudaErrorInvalidValue;
  Error error = convert(*resource, from);
  if (error == cudaSuccess) error = check(format_in(driver, from), *reading);
  if (error != cudaSuccess) return error;
  const CUDA_TEXTURE_DESC sampling = convert(*reading);
  const CUDA_RESOURCE_VIEW_DESC seen = view ? convert(*view) : CUDA_RESOURCE_VIEW_DESC{};
  return ask(driver.cuTexObjectCreate, object, &from, &sampling, view ? &seen : nullptr);
}
CUVMM_RUNTIME_CALL(cudaDestroyTextureObject, (object), CUtexObject object) {
  return object == 0 ? cudaSuccess : ask(driver.cuTexObjectDestroy, object);
}
CUVMM_RUNTIME_CALL(cudaCreateSurfaceObject, (object, resource), CUsurfObject* object,
                   const TextureResource* resource) {
  CUDA_RESOURCE_DESC from{};
  if (!object || !resource) return cudaErrorInvalidValue;
  const Error error = convert(*resource, from);
  return error == cudaSuccess ? ask(driver.cuSurfObjectCreate, object, &from) : error;
}
CUVMM_RUNTIME_CALL(cudaDestroySurfaceObject, (object), CUsurfObject object) {
  return object == 0 ? cudaSuccess : ask(driver.cuSurfObjectDestroy, object);
}

}  // namespace cuvmm::runtime
