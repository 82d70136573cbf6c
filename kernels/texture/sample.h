// SPDX-License-Identifier: Apache-2.0
// The value of a texture at a coordinate.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "kernels/texture/image.h"

namespace cuvmm::kernels {

/// The four channels of a texel: the bits of numbers of 32 bits, or of integers.
using Texel = std::array<std::uint32_t, 4>;

/// Where an element lies; null: the access is a fault, which the call has recorded.
using Fetch = std::function<const char*(std::uint64_t offset, std::uint64_t address)>;

/// A coordinate for each axis; an integer counts elements whatever the texture's coordinates are.
struct Coordinate {
  std::array<double, 3> at{};
  unsigned axes = 1;
  bool whole = false;
  std::uint64_t layer = 0;  ///< or a face of a cube; not of images of three dimensions
};

/// The texel at the coordinate, or the weighted mean of its neighbours where the texture filters.
/// The weights have 8 binary digits, as those of GPUs do.
Texel sample(const Texture& texture, const Coordinate& coordinate, const Fetch& fetch);

/// One channel of the four texels between which a filter would interpolate.
Texel gather(const Texture& texture, const Coordinate& coordinate, unsigned channel,
             const Fetch& fetch);

/// The face of a cube, and the place on it from 0 to 1, to which a direction points.
Coordinate on_cube(double x, double y, double z);

}  // namespace cuvmm::kernels
