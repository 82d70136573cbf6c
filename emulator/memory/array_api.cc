// SPDX-License-Identifier: Apache-2.0
// cuArrayCreate to cuMipmappedArrayDestroy. The answers follow the documentation; none was
// measured.
#include <algorithm>

#include "emulator/base/refusal.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/core/record.h"
#include "emulator/machine/device_attributes.h"
#include "emulator/memory/memory_entry.h"
#include "rulebook/objects/array_objects.h"

namespace cuvmm::emulator {

namespace {

using Shape = CUDA_ARRAY3D_DESCRIPTOR;

constexpr unsigned kTaken = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                            CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER |
                            CUDA_ARRAY3D_COLOR_ATTACHMENT | CUDA_ARRAY3D_SPARSE;
constexpr unsigned kVideo = 0x100;  // CUDA_ARRAY3D_VIDEO_ENCODE_DECODE, which older headers lack
constexpr unsigned kNotEmulated =
    CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_DEPTH_TEXTURE | kVideo;

// The attributes that limit the extents of each kind of array; 0: that extent must be 0.
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
    constexpr Size kNoneIsWider = 1 << 17;  // the limit where a profile has no value, or 0
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

Size bytes_of(const Shape& shape, unsigned level) {
  const bool layers = shape.Flags & CUDA_ARRAY3D_LAYERED;
  const Size depth = layers ? shape.Depth : level_extent(shape.Depth, level);
  return level_extent(shape.Width, level) * level_extent(shape.Height, level) * depth *
         element_size(shape);
}

// `levels`: at least 1 for a mipmapped array; 0 for any other array.
CUresult create(Emulator& e, CUarray* out, const Shape* asked, unsigned levels) {
  Context* const context = e.current_context();
  if (!context) return e.no_context();
  if (context->fault != CUDA_SUCCESS) return context->fault;
  if (!out || !asked) return CUDA_ERROR_INVALID_VALUE;
  const Shape& shape = *asked;
  const unsigned channels = shape.NumChannels;
  if ((channels != 1 && channels != 2 && channels != 4) || shape.Width == 0 ||
      static_cast<int>(shape.Format) <= 0 || (shape.Flags & ~(kTaken | kNotEmulated)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (element_size(shape) == 0 || (shape.Flags & kNotEmulated) != 0) {
    static std::atomic<bool> said{false};
    return refuse_once(said, "cuArray3DCreate (of a packed format, or for deferred mapping)");
  }
  if (!legal_extents(e, shape)) return CUDA_ERROR_INVALID_VALUE;
  Array array{.shape = shape, .levels = levels, .context = context};
  if (array.sparse()) {  // takes memory when memory is mapped into it
    if (shape.Height == 0 || (shape.Flags & CUDA_ARRAY3D_CUBEMAP)) return CUDA_ERROR_INVALID_VALUE;
    *out = e.arrays.add(std::move(array));
    return CUDA_SUCCESS;
  }
  constexpr Size kCharge = 512;
  Size bytes = 0;
  for (unsigned level = 0; level < std::max(levels, 1u); ++level) bytes += bytes_of(shape, level);
  const Size charge = (bytes + kCharge - 1) / kCharge * kCharge;
  e.physical.drop_unheld();
  if (charge > e.devices.free(context->device)) return CUDA_ERROR_OUT_OF_MEMORY;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = context->device;
  array.memory.emplace(charge, prop, false, charge, e.devices.account(context->device));
  *out = e.arrays.add(std::move(array));
  return CUDA_SUCCESS;
}

// Gives the model the properties of a sparse array, as a driver reports them.
template <class CallStruct>
void record_array(Emulator& e, const CallStruct& call, CUarray made, Facts facts) {
  const Array* const array = e.arrays.find(made);
  CUDA_ARRAY_SPARSE_PROPERTIES told{};
  if (array && array->sparse()) {
    told = sparse_properties(*array);
    facts.array.sparse = &told;
  }
  record_in_model(e, call, facts);
}

CUresult destroy(Emulator& e, CUarray handle, bool mipmapped) {
  Context* const context = e.current_context();
  if (!context) return e.no_context();
  if (context->fault != CUDA_SUCCESS) return context->fault;
  const Array* const array = e.arrays.find(handle);
  if (!array || (array->levels != 0) != mipmapped) return CUDA_ERROR_INVALID_HANDLE;
  e.arrays.erase(handle);
  return CUDA_SUCCESS;
}

template <class Body>
CUresult on_array(CUarray handle, Body&& body) noexcept {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    const Array* array = e.arrays.find(handle);
    return array ? body(array->shape) : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // namespace

CUresult perform(Emulator& e, const calls::ArrayCreate& call, const Facts&, const Retired&) {
  Shape shape{};
  if (const CUDA_ARRAY_DESCRIPTOR* asked = call.pAllocateArray) {
    shape.Width = asked->Width;
    shape.Height = asked->Height;
    shape.Format = asked->Format;
    shape.NumChannels = asked->NumChannels;
  }
  return create(e, call.pHandle, call.pAllocateArray ? &shape : nullptr, 0);
}

CUresult perform(Emulator& e, const calls::Array3DCreate& call, const Facts&, const Retired&) {
  return create(e, call.pHandle, call.pAllocateArray, 0);
}

CUresult perform(Emulator& e, const calls::MipmappedArrayCreate& call, const Facts&,
                 const Retired&) {
  if (!call.pHandle || !call.pMipmappedArrayDesc) return CUDA_ERROR_INVALID_VALUE;
  CUarray array = nullptr;
  const unsigned levels = level_count(*call.pMipmappedArrayDesc, call.numMipmapLevels);
  const CUresult result = create(e, &array, call.pMipmappedArrayDesc, levels);
  if (result == CUDA_SUCCESS) *call.pHandle = as_mipmap(array);
  return result;
}

CUresult perform(Emulator& e, const calls::MipmappedArrayGetLevel& call, const Facts&,
                 const Retired&) {
  Context* const context = e.current_context();
  if (!context) return e.no_context();
  if (!call.pLevelArray) return CUDA_ERROR_INVALID_VALUE;
  Array* const whole = e.arrays.find(as_array(call.hMipmappedArray));
  if (!whole || whole->levels == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (call.level >= whole->levels) return CUDA_ERROR_INVALID_VALUE;
  if (const auto given = whole->level_arrays.find(call.level); given != whole->level_arrays.end()) {
    *call.pLevelArray = given->second;
    return CUDA_SUCCESS;
  }
  Array level{.shape = whole->shape, .context = whole->context};
  Shape& shape = level.shape;
  const bool layers = shape.Flags & CUDA_ARRAY3D_LAYERED;
  shape.Width = level_extent(shape.Width, call.level);
  if (shape.Height > 0) shape.Height = level_extent(shape.Height, call.level);
  if (shape.Depth > 0 && !layers) shape.Depth = level_extent(shape.Depth, call.level);
  // The mipmapped array is sparse, its level is not.
  shape.Flags &= ~static_cast<unsigned>(CUDA_ARRAY3D_SPARSE);
  *call.pLevelArray = whole->level_arrays[call.level] = e.arrays.add(std::move(level));
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::ArrayDestroy& call, const Facts&, const Retired&) {
  return destroy(e, call.hArray, false);
}

CUresult perform(Emulator& e, const calls::MipmappedArrayDestroy& call, const Facts&,
                 const Retired&) {
  return destroy(e, as_array(call.hMipmappedArray), true);
}

void record(Emulator& e, const calls::ArrayCreate& call, const Facts& facts) {
  record_array(e, call, *call.pHandle, facts);
}
void record(Emulator& e, const calls::Array3DCreate& call, const Facts& facts) {
  record_array(e, call, *call.pHandle, facts);
}
void record(Emulator& e, const calls::MipmappedArrayCreate& call, const Facts& facts) {
  record_array(e, call, as_array(*call.pHandle), facts);
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

CUresult run_base(const calls::ArrayGetSparseProperties& call) noexcept {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    const Array* array = e.arrays.find(call.array);
    if (!array) return CUDA_ERROR_INVALID_HANDLE;
    if (!call.sparseProperties || !array->sparse() || array->levels != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *call.sparseProperties = sparse_properties(*array);
    return CUDA_SUCCESS;
  });
}

CUresult run_base(const calls::MipmappedArrayGetSparseProperties& call) noexcept {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    const Array* array = e.arrays.find(as_array(call.mipmap));
    if (!array || array->levels == 0) return CUDA_ERROR_INVALID_HANDLE;
    if (!call.sparseProperties || !array->sparse()) return CUDA_ERROR_INVALID_VALUE;
    *call.sparseProperties = sparse_properties(*array);
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
