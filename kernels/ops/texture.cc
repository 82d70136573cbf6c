// SPDX-License-Identifier: Apache-2.0
// Reads of textures, and reads and writes of surfaces.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/ops/opcodes.h"
#include "kernels/run/lanes.h"
#include "kernels/run/warp.h"
#include "kernels/texture/sample.h"

namespace cuvmm::kernels {

namespace {

/// The shape that an instruction expects, in Instruction::option.
enum Geometry : std::uint8_t { k1d, k2d, k3d, kLayers1d, kLayers2d, kCube, kCubes };
constexpr std::string_view kGeometries[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};

bool has_layers(std::uint8_t geometry) {
  return geometry == kLayers1d || geometry == kLayers2d || geometry == kCubes;
}
unsigned axes_of(std::uint8_t geometry) {
  constexpr unsigned kAxes[] = {1, 2, 3, 1, 2, 3, 3};
  return kAxes[geometry];
}

// The slots of up to four coordinates.
std::uint64_t coordinate(Warp& warp, const Instruction& i, unsigned index, unsigned lane) {
  const std::uint32_t slots[] = {i.b, i.c, i.e, i.target};
  return warp.reg(slots[index])[lane];
}

// Instruction::flags of a read of a texture; above them the channel of a gather.
enum TextureFlag : std::uint8_t { kWhole = 1, kGather = 2 };

Coordinate place(Warp& warp, const Instruction& i, unsigned lane) {
  const bool layers = has_layers(i.option);
  const unsigned axes = axes_of(i.option), first = layers ? 1 : 0;
  Coordinate out;
  out.axes = axes;
  out.whole = i.flags & kWhole;
  for (unsigned axis = 0; axis < axes; ++axis) {
    const auto bits = static_cast<std::uint32_t>(coordinate(warp, i, first + axis, lane));
    out.at[axis] = out.whole ? static_cast<double>(static_cast<std::int32_t>(bits))
                             : static_cast<double>(std::bit_cast<float>(bits));
  }
  if (i.option == kCube || i.option == kCubes) out = on_cube(out.at[0], out.at[1], out.at[2]);
  if (layers) {
    const auto layer = static_cast<std::int32_t>(coordinate(warp, i, 0, lane));
    constexpr std::uint64_t kFaces = 6;
    out.layer += static_cast<std::uint64_t>(std::max(layer, 0)) *
                 (i.option == kCubes ? kFaces : std::uint64_t{1});
  }
  return out;
}

// A read by index of elements that are not there gives zeros.
bool beyond(const Texture& texture, const Coordinate& at) {
  const Image& image = texture.image;
  return !image.bytes && at.whole && at.axes == 1 &&
         (at.at[0] < 0 || at.at[0] >= static_cast<double>(image.width));
}

void read_texture(Warp& warp, const Instruction& i, Mask m) {
  Instruction global = i;  // for reads of global memory
  global.space = Space::kGlobal;
  each_lane(m, [&](unsigned lane) {
    const std::uint64_t handle = warp.reg(i.a)[lane];
    const Named<Texture> named = warp.block().grid().memory().texture(handle);
    if (!named.object)
      return warp.fail(i, lane, CUDA_ERROR_NOT_SUPPORTED, "a read of a texture: " + named.why_not);
    const Texture& texture = *named.object;
    const Fetch fetch = [&](std::uint64_t offset, std::uint64_t address) -> const char* {
      if (texture.image.bytes) return texture.image.bytes + offset;
      return warp.at(global, lane, address, texture.image.element_bytes(), false);
    };
    const Coordinate at = place(warp, i, lane);
    Texel texel{};
    if (!beyond(texture, at)) {
      texel = i.flags & kGather ? gather(texture, at, static_cast<unsigned>(i.immediate), fetch)
                                : sample(texture, at, fetch);
    }
    for (unsigned part = 0; part < i.count; ++part) {
      warp.reg(i.v[part])[lane] = i.type == Type::kS32 ? put(static_cast<std::int32_t>(texel[part]))
                                                       : std::uint64_t{texel[part]};
    }
  });
}

// Decodes [object, {coordinates}].
bool decode_place(Site& site, std::size_t index, std::uint8_t geometry, Type type, bool& whole) {
  const Operand& operand = site.operand(index);
  if (operand.kind != Operand::Kind::kVector || operand.parts.size() != 2) {
    site.refuse("an object and its coordinates are expected");
    return false;
  }
  site.out.a = site.source(operand.parts[0], Type::kU64);
  std::vector<Operand> coordinates = operand.parts[1].parts;
  if (operand.parts[1].kind != Operand::Kind::kVector) coordinates = {operand.parts[1]};
  const std::size_t needed = axes_of(geometry) + (has_layers(geometry) ? 1U : 0U);
  if (coordinates.size() < needed) {
    site.refuse("too few coordinates");
    return false;
  }
  std::uint32_t* const slots[] = {&site.out.b, &site.out.c, &site.out.e, &site.out.target};
  for (std::size_t i = 0; i < needed; ++i) {
    const bool is_layer = i == 0 && has_layers(geometry);
    *slots[i] = site.source(coordinates[i], is_layer ? Type::kU32 : type);
  }
  whole = type == Type::kS32;
  return true;
}

bool decode_values(Site& site, const Operand& operand, bool written, Type type) {
  const bool vector = operand.kind == Operand::Kind::kVector;
  if ((vector ? operand.parts.size() : 1) != site.out.count) {
    site.refuse("a vector of another size");
    return false;
  }
  for (std::size_t i = 0; i < site.out.count; ++i) {
    const Operand& part = vector ? operand.parts[i] : operand;
    site.out.v[i] = written ? site.target(part) : site.source(part, type);
  }
  return true;
}

// tex, tex.level and tex.grad. A texture of an array has one level, whatever level is named.
void decode_texture(Site& site) {
  const bool level = site.modifiers.take("level") || site.modifiers.take("grad");
  const std::size_t geometry = site.modifiers.take_one(kGeometries, std::size(kGeometries));
  const bool four = site.modifiers.take("v4");
  const Type result = site.modifiers.take_type(), type = site.modifiers.take_type();
  const bool numbers = type == Type::kF32 || type == Type::kS32;
  const bool values = result == Type::kF32 || result == Type::kS32 || result == Type::kU32;
  if (geometry == std::size(kGeometries) || !four || !numbers || !values)
    return site.refuse("it is not known in this form");
  if (!site.expect(2, level ? 4 : 2)) return;
  bool whole = false;
  site.out.option = static_cast<std::uint8_t>(geometry);
  site.out.count = 4;
  site.out.type = result;
  site.out.run = read_texture;
  if (!decode_place(site, 1, site.out.option, type, whole)) return;
  if (whole) site.out.flags = kWhole;
  decode_values(site, site.operand(0), true, result);
}

void decode_gather(Site& site) {
  constexpr std::string_view kChannels[] = {"r", "g", "b", "a"};
  const std::size_t channel = site.modifiers.take_one(kChannels, std::size(kChannels));
  const bool flat = site.modifiers.take("2d"), four = site.modifiers.take("v4");
  const Type result = site.modifiers.take_type(), type = site.modifiers.take_type();
  if (channel == std::size(kChannels) || !flat || !four || type != Type::kF32 ||
      bytes_of(result) != 4)
    return site.refuse("it is not known in this form");
  if (!site.expect(2)) return;
  bool whole = false;
  site.out.option = k2d;
  site.out.count = 4;
  site.out.type = result;
  site.out.immediate = channel;
  site.out.flags = kGather;
  site.out.run = read_texture;
  if (decode_place(site, 1, k2d, type, whole)) decode_values(site, site.operand(0), true, result);
}

/// The effect of a place outside of a surface, in Instruction::flags.
enum Outside : std::uint8_t { kTrap, kClamp, kZero };

// The bytes of an access; null where it has no effect, or is a fault.
char* find_element(Warp& warp, const Instruction& i, const Image& image, unsigned lane,
                   unsigned size) {
  const bool layers = has_layers(i.option);
  const unsigned axes = axes_of(i.option), first = layers ? 1 : 0;
  // Bytes along the first axis, elements along the others.
  const std::uint64_t sizes[] = {image.width * image.element_bytes(), image.height, image.depth};
  std::uint64_t at[3] = {};
  for (unsigned axis = 0; axis < axes + (layers ? 1U : 0U); ++axis) {
    const bool is_layer = layers && axis == axes;
    const unsigned along = is_layer ? 2 : axis;
    const unsigned step = along == 0 ? size : 1;
    const std::int64_t index =
        static_cast<std::int32_t>(coordinate(warp, i, is_layer ? 0 : first + axis, lane));
    const auto last = static_cast<std::int64_t>(sizes[along]) - static_cast<std::int64_t>(step);
    const bool out = index < 0 || index > last;
    if (out && i.flags == kZero) return nullptr;
    if (out && i.flags == kTrap) {
      warp.fail(i, lane, CUDA_ERROR_ILLEGAL_ADDRESS,
                "an access outside of a surface: coordinate " + std::to_string(index) +
                    " of axis " + std::to_string(along) + ", which has " +
                    std::to_string(sizes[along]));
      return nullptr;
    }
    at[along] = static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(index, 0, std::max<std::int64_t>(last, 0)));
  }
  if (at[0] % size != 0) {
    warp.fail(i, lane, CUDA_ERROR_MISALIGNED_ADDRESS,
              "byte " + std::to_string(at[0]) + " of a surface's row is not a multiple of the " +
                  std::to_string(size) + " bytes of the access");
    return nullptr;
  }
  return image.bytes + at[2] * image.slice_bytes + at[1] * image.row_bytes + at[0];
}

template <class T, bool kLoad>
void access_surface(Warp& warp, const Instruction& i, Mask m) {
  each_lane(m, [&](unsigned lane) {
    const Named<Image> named = warp.block().grid().memory().surface(warp.reg(i.a)[lane]);
    if (!named.object)
      return warp.fail(i, lane, CUDA_ERROR_NOT_SUPPORTED,
                       "an access of a surface: " + named.why_not);
    constexpr auto kSize = static_cast<unsigned>(sizeof(T));
    char* const bytes = find_element(warp, i, *named.object, lane, kSize * i.count);
    for (unsigned part = 0; part < i.count; ++part) {
      std::uint64_t& reg = warp.reg(i.v[part])[lane];
      if constexpr (kLoad) {
        T value{};
        if (bytes) std::memcpy(&value, bytes + std::size_t{part} * kSize, sizeof value);
        reg = put(value);
      } else if (bytes) {
        const T value = get<T>(reg);
        std::memcpy(bytes + std::size_t{part} * kSize, &value, sizeof value);
      }
    }
  });
}

template <bool kLoad>
void decode_surface(Site& site) {
  constexpr std::string_view kOutside[] = {"trap", "clamp", "zero"};
  if (!site.modifiers.take("b")) return site.refuse("it is not known in this form");
  const std::size_t geometry = site.modifiers.take_one(kGeometries, std::size(kGeometries));
  for (const char* hint : {"ca", "cg", "cs", "cv", "wb", "wt"}) site.modifiers.take(hint);
  Instruction& out = site.out;
  out.count = site.modifiers.take("v2") ? 2 : site.modifiers.take("v4") ? 4 : 1;
  const Type type = site.modifiers.take_type();
  out.flags = static_cast<std::uint8_t>(site.modifiers.take_one(kOutside, kTrap));
  if (geometry > kLayers2d || type < Type::kB8 || type > Type::kB64)
    return site.refuse("it is not known in this form");
  if (!site.expect(2)) return;
  out.option = static_cast<std::uint8_t>(geometry);
  out.run = with_integer(type, [](auto t) -> Run { return access_surface<decltype(t), kLoad>; });
  bool whole = false;
  if (!decode_place(site, kLoad ? 1 : 0, out.option, Type::kS32, whole)) return;
  decode_values(site, site.operand(kLoad ? 0 : 1), kLoad, type);
}

constexpr Opcode kOpcodes[] = {
    {"tex", decode_texture},
    {"tld4", decode_gather},
    {"suld", decode_surface<true>},
    {"sust", decode_surface<false>},
};

}  // namespace

std::span<const Opcode> texture_opcodes() { return kOpcodes; }

}  // namespace cuvmm::kernels
