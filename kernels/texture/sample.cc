// SPDX-License-Identifier: Apache-2.0
#include "kernels/texture/sample.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/number/small_float.h"

namespace cuvmm::kernels {

namespace {

using Mode = Texture::Mode;

std::uint64_t extent(const Image& image, unsigned axis) {
  return axis == 0 ? image.width : axis == 1 ? image.height : image.depth;
}

// The element of an axis for an index that may lie outside; negative: the border.
std::int64_t inside(std::int64_t index, std::uint64_t size, Mode mode) {
  const auto count = static_cast<std::int64_t>(size);
  if (index >= 0 && index < count) return index;
  switch (mode) {
    case Mode::kWrap:
      return (index % count + count) % count;
    case Mode::kMirror: {
      const std::int64_t at = (index % (2 * count) + 2 * count) % (2 * count);
      return at < count ? at : 2 * count - 1 - at;
    }
    case Mode::kBorder:
      return -1;
    case Mode::kClamp:
      break;
  }
  return std::clamp<std::int64_t>(index, 0, count - 1);
}

std::uint32_t channel_of(const Texture& texture, const char* from) {
  const Image& image = texture.image;
  std::uint32_t bits = 0;
  std::memcpy(&bits, from, image.channel_bytes);
  if (image.channel == Image::Channel::kFloat)
    return image.channel_bytes == 4 ? bits
                                    : std::bit_cast<std::uint32_t>(static_cast<float>(widen(
                                          static_cast<std::uint16_t>(bits), kHalf[0], kHalf[1])));
  const unsigned width = image.channel_bytes * 8;
  const bool is_signed = image.channel == Image::Channel::kSigned;
  const auto value = is_signed ? static_cast<std::int32_t>(bits << (32 - width)) >> (32 - width)
                               : static_cast<std::int32_t>(bits);
  if (!texture.as_fraction) return static_cast<std::uint32_t>(value);
  const double most = std::ldexp(1.0, static_cast<int>(width) - (is_signed ? 1 : 0)) - 1;
  return std::bit_cast<std::uint32_t>(
      static_cast<float>(std::max(static_cast<double>(value) / most, -1.0)));
}

bool as_float(const Texture& texture) {
  return texture.as_fraction || texture.image.channel == Image::Channel::kFloat;
}

using Index = std::array<std::int64_t, 3>;

Texel element(const Texture& texture, const Index& index, unsigned axes, std::uint64_t layer,
              const Fetch& fetch) {
  const Image& image = texture.image;
  Texel out{0, 0, 0, as_float(texture) ? std::bit_cast<std::uint32_t>(1.0F) : 1};
  Index at{};
  for (unsigned axis = 0; axis < axes; ++axis) {
    at[axis] = inside(index[axis], extent(image, axis), texture.modes[axis]);
    if (at[axis] >= 0) continue;
    for (unsigned i = 0; i < 4; ++i)
      out[i] = as_float(texture)
                   ? std::bit_cast<std::uint32_t>(texture.border[i])
                   : static_cast<std::uint32_t>(static_cast<std::int64_t>(texture.border[i]));
    return out;
  }
  const std::uint64_t slice = axes < 3 ? layer : static_cast<std::uint64_t>(at[2]);
  const std::uint64_t offset = slice * image.slice_bytes +
                               static_cast<std::uint64_t>(at[1]) * image.row_bytes +
                               static_cast<std::uint64_t>(at[0]) * image.element_bytes();
  const char* const from = fetch(offset, image.address + offset);
  if (!from) return {};
  for (unsigned i = 0; i < image.channels; ++i)
    out[i] = channel_of(texture, from + std::size_t{i} * image.channel_bytes);
  return out;
}

// The coordinate in elements.
double in_elements(const Texture& texture, double at, unsigned axis) {
  constexpr double kFarthest = 1 << 30;
  if (std::isnan(at)) at = 0;
  if (texture.normalized) {
    // The modes that repeat work on the part behind the point, as the programming guide says.
    const Mode mode = texture.modes[axis];
    const double below = std::floor(at);
    if (mode == Mode::kWrap && std::isfinite(at)) at -= below;
    if (mode == Mode::kMirror && std::isfinite(at))
      at = std::fmod(below, 2) == 0 ? at - below : 1 - (at - below);
    at *= static_cast<double>(extent(texture.image, axis));
  }
  return std::clamp(at, -kFarthest, kFarthest);
}

std::uint64_t layer_of(const Texture& texture, const Coordinate& coordinate) {
  return coordinate.axes < 3 ? std::min(coordinate.layer, texture.image.depth - 1) : 0;
}

/// The lower neighbours of a coordinate, and the weights of the upper ones.
struct Neighbours {
  Index first{};
  std::array<double, 3> weight{};
};

Neighbours neighbours(const Texture& texture, const Coordinate& coordinate) {
  constexpr double kSteps = 256;
  Neighbours out;
  for (unsigned axis = 0; axis < coordinate.axes; ++axis) {
    const double at = in_elements(texture, coordinate.at[axis], axis) - 0.5;
    const double below = std::floor(at);
    out.first[axis] = static_cast<std::int64_t>(below);
    out.weight[axis] = std::round((at - below) * kSteps) / kSteps;
  }
  return out;
}

}  // namespace

Texel sample(const Texture& texture, const Coordinate& coordinate, const Fetch& fetch) {
  const std::uint64_t layer = layer_of(texture, coordinate);
  const unsigned axes = coordinate.axes;
  if (coordinate.whole || !texture.filters || !as_float(texture)) {
    Index index{};
    for (unsigned axis = 0; axis < axes; ++axis) {
      const double at =
          coordinate.whole ? coordinate.at[axis] : in_elements(texture, coordinate.at[axis], axis);
      index[axis] = static_cast<std::int64_t>(std::floor(at));
    }
    return element(texture, index, axes, layer, fetch);
  }
  const Neighbours near = neighbours(texture, coordinate);
  std::array<double, 4> sum{};
  for (unsigned corner = 0; corner < 1U << axes; ++corner) {
    Index index{};
    double weight = 1;
    for (unsigned axis = 0; axis < axes; ++axis) {
      const bool upper = corner >> axis & 1;
      index[axis] = near.first[axis] + (upper ? 1 : 0);
      weight *= upper ? near.weight[axis] : 1 - near.weight[axis];
    }
    if (weight == 0) continue;
    const Texel each = element(texture, index, axes, layer, fetch);
    for (unsigned i = 0; i < 4; ++i)
      sum[i] += weight * static_cast<double>(std::bit_cast<float>(each[i]));
  }
  Texel out{};
  for (unsigned i = 0; i < 4; ++i)
    out[i] = std::bit_cast<std::uint32_t>(static_cast<float>(sum[i]));
  return out;
}

Texel gather(const Texture& texture, const Coordinate& coordinate, unsigned channel,
             const Fetch& fetch) {
  const Neighbours near = neighbours(texture, coordinate);
  constexpr std::int64_t kOrder[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  Texel out{};
  for (unsigned i = 0; i < 4; ++i) {
    const Index index{near.first[0] + kOrder[i][0], near.first[1] + kOrder[i][1], 0};
    out[i] = element(texture, index, 2, layer_of(texture, coordinate), fetch)[channel % 4];
  }
  return out;
}

Coordinate on_cube(double x, double y, double z) {
  const double ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  double longest = 0, s = 0, t = 0;
  Coordinate out;
  out.axes = 2;
  if (ax >= ay && ax >= az) {
    out.layer = std::signbit(x) ? 1 : 0;
    longest = ax, s = std::signbit(x) ? z : -z, t = -y;
  } else if (ay >= az) {
    out.layer = std::signbit(y) ? 3 : 2;
    longest = ay, s = x, t = std::signbit(y) ? -z : z;
  } else {
    out.layer = std::signbit(z) ? 5 : 4;
    longest = az, s = std::signbit(z) ? -x : x, t = -y;
  }
  out.at = {(s / longest + 1) / 2, (t / longest + 1) / 2, 0};
  return out;
}

}  // namespace cuvmm::kernels
