// SPDX-License-Identifier: Apache-2.0
// The textures and surfaces that a kernel reaches by their handles.
#include <algorithm>
#include <optional>

#include "emulator/code/device_memory.h"
#include "rulebook/objects/array_objects.h"

namespace cuvmm::emulator {

namespace {

using KernelImage = kernels::Image;
using KernelTexture = kernels::Texture;
using Mode = KernelTexture::Mode;

struct Elements {
  KernelImage::Channel channel;
  unsigned bytes;
  bool fraction = false;  ///< integers that stand for numbers up to 1
};

std::optional<Elements> elements_of(CUarray_format format) {
  using Channel = KernelImage::Channel;
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
      return Elements{Channel::kUnsigned, 1};
    case CU_AD_FORMAT_UNSIGNED_INT16:
      return Elements{Channel::kUnsigned, 2};
    case CU_AD_FORMAT_UNSIGNED_INT32:
      return Elements{Channel::kUnsigned, 4};
    case CU_AD_FORMAT_SIGNED_INT8:
      return Elements{Channel::kSigned, 1};
    case CU_AD_FORMAT_SIGNED_INT16:
      return Elements{Channel::kSigned, 2};
    case CU_AD_FORMAT_SIGNED_INT32:
      return Elements{Channel::kSigned, 4};
    case CU_AD_FORMAT_HALF:
      return Elements{Channel::kFloat, 2};
    case CU_AD_FORMAT_FLOAT:
      return Elements{Channel::kFloat, 4};
    default:
      break;
  }
  // The formats 0xc0 to 0xcb: without a sign, then with one; of 8 bits, then of 16.
  const int number = static_cast<int>(format);
  const ChannelFormat named = channel_format(format);
  if (number < 0xc0 || named.channels == 0) return std::nullopt;
  return Elements{number < 0xc6 ? Channel::kUnsigned : Channel::kSigned,
                  named.bytes / named.channels, true};
}

std::string describe(Emulator& e, CUarray handle, KernelImage& out, bool& fraction) {
  Array* const array = e.arrays.find(handle);
  if (!array) return "its array has been destroyed";
  if (!array->memory) return "mipmapped arrays are not emulated here";
  const CUDA_ARRAY3D_DESCRIPTOR& shape = array->shape;
  const auto elements = elements_of(shape.Format);
  if (!elements) return "the format of its array is not emulated here";
  out.channel = elements->channel;
  out.channel_bytes = elements->bytes;
  out.channels = std::max(shape.NumChannels, 1u);
  fraction = elements->fraction;
  out.width = shape.Width;
  out.height = std::max<Size>(shape.Height, 1);
  out.depth = std::max<Size>(shape.Depth, 1);
  out.row_bytes = row_bytes(shape);
  out.slice_bytes = out.row_bytes * out.height;
  out.bytes = array->memory->touch(0, array->memory->size());
  return out.bytes ? "" : "the host has no memory left for its array";
}

std::string describe(CUarray_format format, unsigned channels, KernelImage& out, bool& fraction) {
  const auto elements = elements_of(format);
  if (!elements) return "its format is not emulated here";
  out.channel = elements->channel;
  out.channel_bytes = elements->bytes;
  out.channels = channels;
  fraction = elements->fraction;
  return "";
}

std::string describe(Emulator& e, const CUDA_RESOURCE_DESC& from, KernelImage& out,
                     bool& fraction) {
  std::string wrong;
  switch (from.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      return describe(e, from.res.array.hArray, out, fraction);
    case CU_RESOURCE_TYPE_LINEAR: {
      const auto& linear = from.res.linear;
      wrong = describe(linear.format, linear.numChannels, out, fraction);
      out.address = linear.devPtr;
      if (wrong.empty()) out.width = linear.sizeInBytes / out.element_bytes();
      return wrong;
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& flat = from.res.pitch2D;
      wrong = describe(flat.format, flat.numChannels, out, fraction);
      out.address = flat.devPtr;
      out.width = flat.width;
      out.height = flat.height;
      out.row_bytes = flat.pitchInBytes;
      return wrong;
    }
    default:
      return "mipmapped arrays are not emulated here";
  }
}

Mode mode_of(CUaddress_mode mode, bool normalized) {
  switch (mode) {
    case CU_TR_ADDRESS_MODE_WRAP:  // clamps, unless coordinates are normalized
      return normalized ? Mode::kWrap : Mode::kClamp;
    case CU_TR_ADDRESS_MODE_MIRROR:
      return normalized ? Mode::kMirror : Mode::kClamp;
    case CU_TR_ADDRESS_MODE_BORDER:
      return Mode::kBorder;
    default:
      return Mode::kClamp;
  }
}

std::string describe(Emulator& e, const Texture& from, KernelTexture& out) {
  const CUDA_TEXTURE_DESC& sampling = from.sampling;
  if (sampling.flags & CU_TRSF_SRGB) return "sRGB is not emulated here";
  if (from.view.format != CU_RES_VIEW_FORMAT_NONE) return "a resource view is not emulated here";
  bool fraction = false;
  std::string wrong = describe(e, from.resource, out.image, fraction);
  if (!wrong.empty()) return wrong;
  out.filters = sampling.filterMode == CU_TR_FILTER_MODE_LINEAR;
  out.normalized = (sampling.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  const bool narrow =
      out.image.channel != KernelImage::Channel::kFloat && out.image.channel_bytes < 4;
  out.as_fraction = fraction || (narrow && !(sampling.flags & CU_TRSF_READ_AS_INTEGER));
  for (int axis = 0; axis < 3; ++axis)
    out.modes[axis] = mode_of(sampling.addressMode[axis], out.normalized);
  std::copy_n(sampling.borderColor, 4, out.border);
  return "";
}

template <class Object>
kernels::Named<Object> named(const std::pair<Object, std::string>& known) {
  return {known.second.empty() ? &known.first : nullptr, known.second};
}

std::string hexadecimal(std::uint64_t handle) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(handle));
  return text;
}

}  // namespace

kernels::Named<KernelTexture> DeviceMemory::texture(std::uint64_t handle) {
  const auto [known, added] = textures_.try_emplace(handle);
  auto& [texture, wrong] = known->second;
  if (added) {
    const Texture* const found = e_.textures.find(handle);
    wrong = found ? describe(e_, *found, texture) : hexadecimal(handle) + " is no texture object";
  }
  return named(known->second);
}

kernels::Named<KernelImage> DeviceMemory::surface(std::uint64_t handle) {
  const auto [known, added] = surfaces_.try_emplace(handle);
  auto& [image, wrong] = known->second;
  if (added) {
    bool fraction = false;
    const CUDA_RESOURCE_DESC* const found = e_.surfaces.find(handle);
    wrong = found ? describe(e_, *found, image, fraction)
                  : hexadecimal(handle) + " is no surface object";
  }
  return named(known->second);
}

}  // namespace cuvmm::emulator
