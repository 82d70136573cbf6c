// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces as kernels access them.
#pragma once

#include <cstdint>
#include <string>

namespace cuvmm::kernels {

/// Elements of one to four channels, in up to three dimensions.
struct Image {
  enum class Channel : std::uint8_t { kUnsigned, kSigned, kFloat };

  Channel channel = Channel::kUnsigned;
  unsigned channel_bytes = 1;  ///< 1, 2 or 4
  unsigned channels = 1;       ///< 1 to 4
  /// Elements; 1 along an axis that the image lacks. Layers and the faces of cubes count as depth.
  std::uint64_t width = 1, height = 1, depth = 1;
  std::uint64_t row_bytes = 0, slice_bytes = 0;  ///< from a row, or a slice, to the next
  char* bytes = nullptr;      ///< of a CUDA array; null: the elements lie in global memory
  std::uint64_t address = 0;  ///< of elements in global memory

  unsigned element_bytes() const { return channel_bytes * channels; }
};

/// How a kernel reads an image.
struct Texture {
  enum class Mode : std::uint8_t { kWrap, kClamp, kMirror, kBorder };

  Image image;
  Mode modes[3] = {Mode::kClamp, Mode::kClamp, Mode::kClamp};
  bool filters = false;     ///< linear interpolation between elements
  bool normalized = false;  ///< coordinates from 0 to 1
  /// Integers become numbers of [0, 1], or [-1, 1] if they have a sign.
  bool as_fraction = false;
  float border[4] = {};
};

/// A texture or a surface that a kernel's handle names; null, and the reason, where there is none.
template <class Object>
struct Named {
  const Object* object = nullptr;
  std::string why_not;
};

}  // namespace cuvmm::kernels
