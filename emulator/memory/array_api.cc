// SPDX-License-Identifier: Apache-2.0
// cuArrayCreate to cuMipmappedArrayDestroy. An H100 with driver 580.159.04 gave the answers to
// random shapes, 2026-11-26.
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
                            CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING;
// Those of graphics, which a profile may refuse.
constexpr unsigned kOfGraphics = CUDA_ARRAY3D_COLOR_ATTACHMENT | CUDA_ARRAY3D_DEPTH_TEXTURE;
constexpr unsigned kVideo = 0x100;  // CUDA_ARRAY3D_VIDEO_ENCODE_DECODE, which older headers lack

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
    const auto answer = e.profile.attribute(attribute, e.device_count());
    const int most = answer.value_or(default_attribute(attribute).value_or(0));
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
  const bool surface = shape.Flags & CUDA_ARRAY3D_SURFACE_LDST;  // has no other extents (recorded)
  return within(e, shape, k3d) || (!surface && within(e, shape, k3dElse));
}

// Whether the format exists, and has this number of channels.
bool legal_format(const Shape& shape) {
  const unsigned channels = shape.NumChannels;
  if (const ChannelFormat named = channel_format(shape.Format); named.bytes != 0) {
    return channels == named.channels;
  }
  if (const ChannelFormat block = block_format(shape.Format); block.bytes != 0) {
    return channels == block.channels && shape.Height != 0;
  }
  return element_size(shape) != 0 && (channels == 1 || channels == 2 || channels == 4);
}

bool planar(const Shape& shape) {
  const int format = static_cast<int>(shape.Format);
  return format >= 0x9f && format < 0xc0;  // P010, NV12 and the formats of YUV
}

bool legal_flags(const Emulator& e, const Shape& shape) {
  const unsigned flags = shape.Flags;
  const auto has = [&](unsigned flag) { return (flags & flag) != 0; };
  if (has(~(kTaken | kOfGraphics | kVideo))) return false;
  const bool sparse_surface = has(CUDA_ARRAY3D_SPARSE) && has(CUDA_ARRAY3D_SURFACE_LDST);
  const bool graphics = has(kOfGraphics) || sparse_surface || planar(shape);
  if (graphics && e.profile.has(Quirk::kArrayNoGraphics)) return false;
  if (has(CUDA_ARRAY3D_TEXTURE_GATHER) && (shape.Height == 0 || shape.Depth != 0)) return false;
  return !has(CUDA_ARRAY3D_SPARSE) || (shape.Height != 0 && !has(CUDA_ARRAY3D_CUBEMAP));
}

// Gives an array memory; false where the device has not enough.
bool take_memory(Emulator& e, const Context& context, Size size, bool charged,
                 std::optional<Physical>& out) {
  constexpr Size kCharge = 512;
  const Size charge = (size + kCharge - 1) / kCharge * kCharge;
  if (charged) {
    e.physical.drop_unheld();
    if (charge > e.free_memory(context.device)) return false;
  }
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = context.device;
  out.emplace(charge, prop, false, charged ? charge : 0,
              charged ? e.devices.account(context.device) : nullptr);
  return true;
}

// `levels`: at least 1 for a mipmapped array; 0 for any other array.
CUresult create(Emulator& e, CUarray* out, const Shape* asked, unsigned levels) {
  Context* const context = e.current_context();
  if (!context) return e.no_context();
  if (context->fault != CUDA_SUCCESS) return context->fault;
  if (!out || !asked) return CUDA_ERROR_INVALID_VALUE;
  const Shape& shape = *asked;
  if (shape.Width == 0 || !legal_flags(e, shape)) return CUDA_ERROR_INVALID_VALUE;
  if (planar(shape) || (shape.Flags & kVideo) != 0) {
    static std::atomic<bool> printed{false};
    return refuse_once(printed, "cuArray3DCreate (of a planar format)");
  }
  if (!legal_format(shape) || !legal_extents(e, shape)) return CUDA_ERROR_INVALID_VALUE;
  Array array{.shape = shape, .levels = levels, .context = context};
  // Memory that the program maps is charged where it is created.
  const bool charged = (shape.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) == 0;
  Size size = 0;
  for (unsigned level = 0; level < std::max(levels, 1u); ++level) {
    size += packed_bytes(level_shape(shape, level));
  }
  auto& memory = levels != 0 ? array.charge : array.memory;
  if (!take_memory(e, *context, size, charged, memory)) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = e.arrays.add(std::move(array));
  return CUDA_SUCCESS;
}

// Gives the model the properties of a sparse array, as a driver reports them.
template <class CallStruct>
void record_array(Emulator& e, const CallStruct& call, CUarray made, Facts facts) {
  const Array* const array = e.arrays.find(made);
  CUDA_ARRAY_SPARSE_PROPERTIES answer{};
  if (array && array->sparse()) {
    answer = sparse_properties(*array);
    facts.array.sparse = &answer;
  }
  record_in_model(e, call, facts);
}

CUresult destroy(Emulator& e, CUarray handle, bool mipmapped) {
  Context* const context = e.current_context();
  if (!context) return e.no_context();
  if (context->fault != CUDA_SUCCESS) return context->fault;
  const Array* const array = e.arrays.find(handle);
  if (!array || (array->levels != 0) != mipmapped) return CUDA_ERROR_INVALID_HANDLE;
  if (array->whole) return CUDA_SUCCESS;  // a level ends with its mipmapped array (recorded)
  e.arrays.erase(handle);
  return CUDA_SUCCESS;
}

CUresult requirements(const Array& array, CUDA_ARRAY_MEMORY_REQUIREMENTS* out) {
  const bool deferred = (array.shape.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING) != 0;
  if (!out || !deferred) return CUDA_ERROR_INVALID_VALUE;
  *out = memory_requirements(array);
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
  Array level{.shape = level_shape(whole->shape, call.level), .context = whole->context};
  level.whole = as_array(call.hMipmappedArray);
  take_memory(e, *context, packed_bytes(level.shape), false, level.memory);
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
    if (!call.sparseProperties || !array->sparse() || array->levels != 0 || array->whole) {
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

CUVMM_DRIVER_FUNCTION(cuArrayGetPlane, CUarray* out, CUarray handle, unsigned int) {
  return on_array(handle, [&](const Shape&) -> CUresult {
    return CUDA_ERROR_INVALID_VALUE;  // no array here is planar
  });
}

// The device is not checked (recorded).
CUVMM_DRIVER_FUNCTION(cuArrayGetMemoryRequirements, CUDA_ARRAY_MEMORY_REQUIREMENTS* out,
                      CUarray handle, CUdevice) {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    const Array* array = e.arrays.find(handle);
    return array ? requirements(*array, out) : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUVMM_DRIVER_FUNCTION(cuMipmappedArrayGetMemoryRequirements, CUDA_ARRAY_MEMORY_REQUIREMENTS* out,
                      CUmipmappedArray handle, CUdevice) {
  return with_context([&](Emulator& e, Context&) -> CUresult {
    const Array* array = e.arrays.find(as_array(handle));
    return array && array->levels != 0 ? requirements(*array, out) : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // namespace cuvmm::emulator
