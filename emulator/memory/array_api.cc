// SPDX-License-Identifier: Apache-2.0
// cuArrayCreate to cuArrayDestroy. From the documentation; no driver was asked.
#include <algorithm>

#include "emulator/base/refusal.h"
#include "emulator/context/captured.h"
#include "emulator/entry/base.h"
#include "emulator/entry/export.h"
#include "emulator/entry/locked.h"
#include "emulator/machine/device_attributes.h"

namespace cuvmm::emulator {

namespace {

using Shape = CUDA_ARRAY3D_DESCRIPTOR;

constexpr unsigned kTaken = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                            CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER |
                            CUDA_ARRAY3D_COLOR_ATTACHMENT;
constexpr unsigned kVideo = 0x100;  // CUDA_ARRAY3D_VIDEO_ENCODE_DECODE, which older headers lack
constexpr unsigned kNotEmulated =
    CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_DEPTH_TEXTURE | kVideo;

// Bytes of a component; 0 for formats that pack or compress several, which are not emulated.
Size component_size(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

// The attributes that bound each kind's extents; 0: that extent is 0.
struct Bounds {
  int width, height, depth;
};
constexpr Bounds k1d = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, 0, 0};
constexpr Bounds k2d = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH,
                        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 0};
constexpr Bounds k3d = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH,
                        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT,
                        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH};
constexpr Bounds k3dElse = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE,
                            CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE,
                            CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE};
constexpr Bounds k1dLayers = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 0,
                              CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS};
constexpr Bounds k2dLayers = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
                              CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
                              CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS};
constexpr Bounds kCubes = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
                           CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
                           CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS};

bool within(const Emulator& e, const Shape& shape, const Bounds& bounds) {
  const auto fits = [&](Size extent, int attribute) {
    if (attribute == 0) return extent == 0;
    const auto told = e.profile.attribute(attribute, e.device_count());
    const int most = told.value_or(default_attribute(attribute).value_or(0));
    constexpr Size kNoneIsWider = 1 << 17;  // where a profile is silent, or has 0
    return extent > 0 && extent <= (most > 0 ? static_cast<Size>(most) : kNoneIsWider);
  };
  return fits(shape.Width, bounds.width) && fits(shape.Height, bounds.height) &&
         fits(shape.Depth, bounds.depth);
}

bool legal_extents(const Emulator& e, const Shape& shape) {
  constexpr Size kFaces = 6;
  const bool layers = shape.Flags & CUDA_ARRAY3D_LAYERED;
  if (shape.Flags & CUDA_ARRAY3D_CUBEMAP) {
    const bool faces = layers ? shape.Depth % kFaces == 0 : shape.Depth == kFaces;
    return faces && shape.Width == shape.Height && within(e, shape, kCubes);
  }
  if (layers) return within(e, shape, shape.Height == 0 ? k1dLayers : k2dLayers);
  if (shape.Depth == 0) return within(e, shape, shape.Height == 0 ? k1d : k2d);
  return within(e, shape, k3d) || within(e, shape, k3dElse);
}

CUresult create(CUarray* out, const Shape* asked) noexcept {
  if (const CUresult refused = refuse_unsafe_in_capture(); refused != CUDA_SUCCESS) {
    return refused;
  }
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    if (!out || !asked) return CUDA_ERROR_INVALID_VALUE;
    const Shape& shape = *asked;
    const unsigned channels = shape.NumChannels;
    if ((channels != 1 && channels != 2 && channels != 4) || shape.Width == 0 ||
        static_cast<int>(shape.Format) <= 0 || (shape.Flags & ~(kTaken | kNotEmulated)) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const Size component = component_size(shape.Format);
    if (component == 0 || (shape.Flags & kNotEmulated) != 0) {
      static std::atomic<bool> said{false};
      return refuse_once(said, "cuArray3DCreate (of a packed format, or sparse)");
    }
    if (!legal_extents(e, shape)) return CUDA_ERROR_INVALID_VALUE;
    constexpr Size kCharge = 512;
    const Size bytes = shape.Width * std::max<Size>(shape.Height, 1) *
                       std::max<Size>(shape.Depth, 1) * component * channels;
    const Size charge = (bytes + kCharge - 1) / kCharge * kCharge;
    e.physical.drop_unheld();
    if (charge > e.devices.free(context.device)) return CUDA_ERROR_OUT_OF_MEMORY;
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = context.device;
    Physical memory(charge, prop, false, charge, e.devices.account(context.device));
    *out = e.arrays.add({shape, &context, std::move(memory)});
    return CUDA_SUCCESS;
  });
}

template <class Body>
CUresult on_array(CUarray handle, Body&& body) noexcept {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    const Array* array = e.arrays.find(handle);
    return array ? body(array->shape) : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuArrayCreate_v2, CUarray* out, const CUDA_ARRAY_DESCRIPTOR* asked) {
  Shape shape{};
  if (asked) {
    shape.Width = asked->Width;
    shape.Height = asked->Height;
    shape.Format = asked->Format;
    shape.NumChannels = asked->NumChannels;
  }
  return create(out, asked ? &shape : nullptr);
}

CUVMM_DRIVER_FUNCTION(cuArray3DCreate_v2, CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* asked) {
  return create(out, asked);
}

CUVMM_DRIVER_FUNCTION(cuArrayGetDescriptor_v2, CUDA_ARRAY_DESCRIPTOR* out, CUarray handle) {
  return on_array(handle, [&](const Shape& shape) -> CUresult {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = {shape.Width, shape.Height, shape.Format, shape.NumChannels};
    return CUDA_SUCCESS;
  });
}

CUVMM_DRIVER_FUNCTION(cuArray3DGetDescriptor_v2, CUDA_ARRAY3D_DESCRIPTOR* out, CUarray handle) {
  return on_array(handle, [&](const Shape& shape) -> CUresult {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    *out = shape;
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::ArrayDestroy& call) noexcept {
  if (const CUresult refused = refuse_unsafe_in_capture(); refused != CUDA_SUCCESS) {
    return refused;
  }
  return with_context([&](Emulator& e, Context&) -> CUresult {
    return e.arrays.erase(call.hArray) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult run_base(const calls::MipmappedArrayDestroy&) noexcept {
  static std::atomic<bool> said{false};
  return refuse_once(said, "cuMipmappedArrayDestroy");
}

// No array here is sparse.
CUresult run_base(const calls::ArrayGetSparseProperties& call) noexcept {
  return on_array(call.array, [](const Shape&) { return CUDA_ERROR_INVALID_VALUE; });
}

CUresult run_base(const calls::MipmappedArrayGetSparseProperties&) noexcept {
  static std::atomic<bool> said{false};
  return refuse_once(said, "cuMipmappedArrayGetSparseProperties");
}

}  // namespace cuvmm::emulator
