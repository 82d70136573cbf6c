// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects. An H100 with driver 580.159.04 gave the answers to random
// descriptions, 2026-11-26.
#include <algorithm>

#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "rulebook/objects/array_objects.h"

namespace cuvmm::emulator {

namespace {

using Resource = CUDA_RESOURCE_DESC;
using Sampling = CUDA_TEXTURE_DESC;

// Only arrays have elements in the normalized and compressed formats.
bool plain_format(CUarray_format format, unsigned channels) {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  shape.Format = format;
  shape.NumChannels = channels;
  const bool count = channels == 1 || channels == 2 || channels == 4;
  return count && channel_format(format).bytes == 0 && element_size(shape) != 0;
}

// Checks the address modes of the first `dimensions` axes.
bool legal_modes(const Sampling& sampling, unsigned dimensions) {
  return std::all_of(sampling.addressMode, sampling.addressMode + dimensions, [](auto mode) {
    return static_cast<unsigned>(mode) <= CU_TR_ADDRESS_MODE_BORDER;
  });
}

unsigned dimensions_of(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  const bool layered = (shape.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  return shape.Height == 0 ? 1 : shape.Depth == 0 || layered ? 2 : 3;
}

bool on_device(const Emulator& e, CUdeviceptr address) {
  return e.plain.at(address) || e.model.mapping_at(address);
}

bool aligned(CUdeviceptr address) {
  constexpr CUdeviceptr kTexture = 512;  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT
  return address % kTexture == 0;
}

bool legal_pitch(std::size_t pitch) {
  constexpr std::size_t kPitch = 32;  // CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT
  return pitch % kPitch == 0;
}

CUresult check(Emulator& e, const Resource& resource, const Sampling& sampling) {
  const bool filter = static_cast<unsigned>(sampling.filterMode) <= CU_TR_FILTER_MODE_LINEAR;
  if (resource.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  bool legal = false;
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
      const Array* const array = e.arrays.find(resource.res.array.hArray);
      if (!array) return CUDA_ERROR_INVALID_HANDLE;
      legal = (array->levels != 0) == (resource.resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) &&
              filter && legal_modes(sampling, dimensions_of(array->shape));
      break;
    }
    case CU_RESOURCE_TYPE_LINEAR: {  // read by index, so no mode counts
      const auto& linear = resource.res.linear;
      legal = plain_format(linear.format, linear.numChannels) && linear.sizeInBytes != 0 &&
              aligned(linear.devPtr) && on_device(e, linear.devPtr) && filter;
      break;
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& flat = resource.res.pitch2D;
      legal = plain_format(flat.format, flat.numChannels) && flat.width != 0 && flat.height != 0 &&
              aligned(flat.devPtr) && legal_pitch(flat.pitchInBytes) && on_device(e, flat.devPtr) &&
              filter && legal_modes(sampling, 2);
      break;
    }
    default:
      break;
  }
  return legal ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

template <class Out>
CUresult tell(Out* out, const Texture* value, Out Texture::*member) {
  if (!out || !value) return CUDA_ERROR_INVALID_VALUE;
  *out = value->*member;
  return CUDA_SUCCESS;
}

CUresult ended(bool there) { return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

}  // namespace

CUVMM_DRIVER_FUNCTION(cuTexObjectCreate, CUtexObject* out, const CUDA_RESOURCE_DESC* resource,
                      const CUDA_TEXTURE_DESC* sampling, const CUDA_RESOURCE_VIEW_DESC* view) {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    if (!out || !resource || !sampling) return CUDA_ERROR_INVALID_VALUE;
    const CUresult wrong = check(e, *resource, *sampling);
    if (wrong != CUDA_SUCCESS) return wrong;
    Texture made{*resource, *sampling, view ? *view : CUDA_RESOURCE_VIEW_DESC{}};
    for (CUaddress_mode& mode : made.sampling.addressMode) {  // of an axis that is not used
      if (static_cast<unsigned>(mode) > CU_TR_ADDRESS_MODE_BORDER) mode = CU_TR_ADDRESS_MODE_CLAMP;
    }
    *out = e.textures.add(made);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuTexObjectDestroy, CUtexObject object) {
  return with_context([&](Emulator& e, Context&) { return ended(e.textures.erase(object)); });
}

CUVMM_DRIVER_FUNCTION(cuTexObjectGetResourceDesc, CUDA_RESOURCE_DESC* out, CUtexObject object) {
  return with_context([&](Emulator& e, Context&) {
    return tell(out, e.textures.find(object), &Texture::resource);
  });
}

CUVMM_DRIVER_FUNCTION(cuTexObjectGetTextureDesc, CUDA_TEXTURE_DESC* out, CUtexObject object) {
  return with_context([&](Emulator& e, Context&) {
    return tell(out, e.textures.find(object), &Texture::sampling);
  });
}

// Zeros where the object was made without a view (recorded).
CUVMM_DRIVER_FUNCTION(cuTexObjectGetResourceViewDesc, CUDA_RESOURCE_VIEW_DESC* out,
                      CUtexObject object) {
  return with_context(
      [&](Emulator& e, Context&) { return tell(out, e.textures.find(object), &Texture::view); });
}

// An array needs no flag for surfaces to become one (recorded), whatever the documentation says.
CUVMM_DRIVER_FUNCTION(cuSurfObjectCreate, CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    if (!out || !resource || resource->flags != 0 || resource->resType != CU_RESOURCE_TYPE_ARRAY) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const Array* const array = e.arrays.find(resource->res.array.hArray);
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    if (array->levels != 0) return CUDA_ERROR_INVALID_VALUE;
    *out = e.surfaces.add(*resource);
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuSurfObjectDestroy, CUsurfObject object) {
  return with_context([&](Emulator& e, Context&) { return ended(e.surfaces.erase(object)); });
}

CUVMM_DRIVER_FUNCTION(cuSurfObjectGetResourceDesc, CUDA_RESOURCE_DESC* out, CUsurfObject object) {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    const CUDA_RESOURCE_DESC* const found = e.surfaces.find(object);
    if (!out || !found) return CUDA_ERROR_INVALID_VALUE;
    *out = *found;
    return CUDA_SUCCESS;
  });
}

// 2^32 bytes, or 2^30 elements (recorded).
CUVMM_DRIVER_FUNCTION(cuDeviceGetTexture1DLinearMaxWidth, size_t* out, CUarray_format format,
                      unsigned channels, CUdevice device) {
  return locked([&](Emulator& e) -> CUresult {
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    shape.Format = format;
    shape.NumChannels = channels;
    const Size element = element_size(shape);
    if (!e.valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (!out || element == 0) return CUDA_ERROR_INVALID_VALUE;
    constexpr Size kMost = Size{1} << 30, kBytes = Size{1} << 32;
    *out = std::min(kMost, kBytes / element);
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
