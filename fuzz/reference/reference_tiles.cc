// SPDX-License-Identifier: Apache-2.0
// The reference's opinion of sparse arrays: rulebook/rules/map_array.def line by line, and the
// answers of an H100 with driver 580.159.04 where no rule has them. Elements have one byte.
#include <bit>

#include "fuzz/reference/reference.h"

namespace cuvmm::fuzz {

namespace {

constexpr std::uint64_t kTileBytes = 64 << 10;

std::uint64_t whole_tiles(std::uint64_t bytes) {
  return (bytes + kTileBytes - 1) / kTileBytes * kTileBytes;
}

bool layered(const ArrayState::Tiled& array) { return (array.flags & CUDA_ARRAY3D_LAYERED) != 0; }
bool deep(const ArrayState::Tiled& array) { return array.depth != 0 && !layered(array); }

ArrayState::Box tile_of(const ArrayState::Tiled& array) {
  return deep(array) ? ArrayState::Box{64, 32, 32} : ArrayState::Box{256, 256, 1};
}

ArrayState::Box level_of(const ArrayState::Tiled& array, unsigned level) {
  ArrayState::Box box{array.width, array.height, deep(array) ? array.depth : 1};
  for (std::uint64_t* side : {&box.x, &box.y, &box.z}) {
    for (unsigned i = 0; i<level&& * side> 1; ++i) *side /= 2;
  }
  return box;
}

// The first level that is smaller than a tile along an axis; as many as there are levels if none
// is.
unsigned first_of_tail(const ArrayState::Tiled& array) {
  const ArrayState::Box tile = tile_of(array);
  unsigned level = 0;
  for (; level < array.levels; ++level) {
    const ArrayState::Box box = level_of(array, level);
    if (box.x < tile.x || box.y < tile.y || box.z < tile.z) break;
  }
  return level;
}

// The levels of the tail lie together, with rows of 64 bytes and in groups of eight. A tail that
// begins at the base level has all layers; any other tail belongs to one layer.
std::uint64_t tail_bytes(const ArrayState::Tiled& array) {
  const unsigned first = first_of_tail(array);
  std::uint64_t bytes = 0;
  for (unsigned level = first; level < array.levels; ++level) {
    const ArrayState::Box box = level_of(array, level);
    bytes += (box.x + 63) / 64 * 64 * (box.y > 1 ? (box.y + 7) / 8 * 8 : 1) * box.z;
  }
  if (first == 0 && layered(array)) bytes *= array.depth;
  return whole_tiles(bytes);
}

bool wrong_axis(std::uint64_t offset, std::uint64_t extent, std::uint64_t tile,
                std::uint64_t side) {
  if (offset % tile != 0 || offset >= side || extent > side - offset) return true;
  return extent % tile != 0 && offset + extent != side;
}

bool wrong_level(const ArrayState::Tiled& array, const CUarrayMapInfo& info) {
  const auto& region = info.subresource.sparseLevel;
  if (region.level >= array.levels) return true;
  if (region.layer >= (layered(array) ? array.depth : 1)) return true;
  if (!deep(array) && (region.offsetZ != 0 || region.extentDepth > 1)) return true;
  // The levels of the tail have no tiles of their own.
  const bool in_tail = array.of_levels && region.level >= first_of_tail(array);
  const ArrayState::Box tile = in_tail ? ArrayState::Box{1, 1, 1} : tile_of(array);
  const ArrayState::Box box = level_of(array, region.level);
  return wrong_axis(region.offsetX, region.extentWidth, tile.x, box.x) ||
         wrong_axis(region.offsetY, region.extentHeight, tile.y, box.y) ||
         (deep(array) && wrong_axis(region.offsetZ, region.extentDepth, tile.z, box.z));
}

bool wrong_tail(const ArrayState::Tiled& array, const CUarrayMapInfo& info) {
  const auto& tail = info.subresource.miptail;
  const bool by_layer = layered(array) && first_of_tail(array) != 0;
  const std::uint64_t bytes = tail_bytes(array);
  return tail.layer >= (by_layer ? array.depth : 1) || tail.offset % kTileBytes != 0 ||
         tail.size % kTileBytes != 0 || tail.offset >= bytes || tail.size > bytes - tail.offset;
}

bool of_tail(const CUarrayMapInfo& info) {
  return info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
}

std::uint64_t memory_of(const ArrayState::Tiled& array, const CUarrayMapInfo& info) {
  if (of_tail(info)) return info.subresource.miptail.size;
  const auto& region = info.subresource.sparseLevel;
  const ArrayState::Box tile = tile_of(array);
  return (region.extentWidth + tile.x - 1) / tile.x *
         ((region.extentHeight + tile.y - 1) / tile.y) *
         ((region.extentDepth + tile.z - 1) / tile.z) * kTileBytes;
}

}  // namespace

const ArrayState::Tiled* Reference::tiled_of(const CUarrayMapInfo& info, bool& live) const {
  if (info.resourceType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
    const ArrayState::Mipmap* mipmap = mipmap_of(info.resource.mipmap);
    live = mipmap && mipmap->live;
    return mipmap ? &mipmap->tiled : nullptr;
  }
  const ArrayState::Array* array = array_of(info.resource.array);
  live = array && array->live;
  return array ? &array->tiled : nullptr;
}

Judgement Reference::judge(const calls::Array3DCreate& call, Actor actor) const {
  Judgement out;
  out.may_run_out = true;
  if (!call.pAllocateArray || actor.device < 0) out.loose = true;
  return out;
}
const char* Reference::accept(const calls::Array3DCreate& call, Actor actor) {
  if (!call.pAllocateArray) return "an array without a size";
  const CUDA_ARRAY3D_DESCRIPTOR& size = *call.pAllocateArray;
  const ArrayState::Array* before = array_of(*call.pHandle);
  const bool taken = before && before->live;
  ArrayState::Array array{
      reinterpret_cast<std::uint64_t>(*call.pHandle), actor.device, -1, 0, size.Width, {}};
  array.tiled = {size.Width, size.Height, static_cast<unsigned>(size.Depth), size.Flags, 1, true};
  arrays_.arrays.push_back(std::move(array));
  return taken ? "the handle of an array that lives" : nullptr;
}

namespace {
void judge_sparse_properties(Judgement& out, const ArrayState::Tiled& array, bool whole,
                             const void* answer) {
  const bool sparse = (array.flags & CUDA_ARRAY3D_SPARSE) != 0;
  if (!sparse || !whole || !answer) out.demand(CUDA_ERROR_INVALID_VALUE);
}
const char* compare(const ArrayState::Tiled& array, const CUDA_ARRAY_SPARSE_PROPERTIES& got) {
  const ArrayState::Box tile = tile_of(array);
  if (got.tileExtent.width != tile.x || got.tileExtent.height != tile.y ||
      got.tileExtent.depth != tile.z) {
    return "the tile has another size";
  }
  const unsigned first = first_of_tail(array);
  if (got.miptailFirstLevel != (array.of_levels ? first : 0)) return "the tail begins elsewhere";
  if (got.miptailSize != tail_bytes(array)) return "the tail has another size";
  const unsigned single = first == 0 ? CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL : 0;
  return got.flags == single ? nullptr : "the tail is one for all layers, or is not";
}
}  // namespace

Judgement Reference::judge(const calls::ArrayGetSparseProperties& call, Actor actor) const {
  Judgement out;
  const ArrayState::Array* array = array_of(call.array);
  // A driver may die of a handle that is not valid.
  if (!array || !array->live || array->device != actor.device) {
    out.uncovered = true;
    return out;
  }
  judge_sparse_properties(out, array->tiled, array->mipmap < 0, call.sparseProperties);
  return out;
}
const char* Reference::accept(const calls::ArrayGetSparseProperties& call) {
  return compare(array_of(call.array)->tiled, *call.sparseProperties);
}
Judgement Reference::judge(const calls::MipmappedArrayGetSparseProperties& call,
                           Actor actor) const {
  Judgement out;
  const ArrayState::Mipmap* mipmap = mipmap_of(call.mipmap);
  if (!mipmap || !mipmap->live || mipmap->device != actor.device) {
    out.uncovered = true;
    return out;
  }
  judge_sparse_properties(out, mipmap->tiled, true, call.sparseProperties);
  return out;
}
const char* Reference::accept(const calls::MipmappedArrayGetSparseProperties& call) {
  return compare(mipmap_of(call.mipmap)->tiled, *call.sparseProperties);
}

// The rules about the array and its region.
void Reference::judge_region(Judgement& out, const CUarrayMapInfo& info) const {
  bool live = false;
  const bool of_array = info.resourceType == CU_RESOURCE_TYPE_ARRAY;
  const ArrayState::Tiled* array = tiled_of(info, live);
  if (!info.resource.array) out.add(Rule::kArrayResourceNonnull);
  if (array && !live) out.add(Rule::kArrayResourceAlive);
  const ArrayState::Array* level = of_array ? array_of(info.resource.array) : nullptr;
  const bool part = level && level->mipmap >= 0;
  if (part) out.add(Rule::kArrayNotLevel);
  const bool sparse = array && (array->flags & CUDA_ARRAY3D_SPARSE) != 0;
  if (array && !sparse && !part) out.add(Rule::kArraySparse);
  const bool known = live && sparse && !part;
  if (of_tail(info)) {
    if (info.subresource.miptail.size == 0) out.add(Rule::kArrayExtentNonzero);
    if (known && wrong_tail(*array, info)) out.add(Rule::kArrayTiles);
    return;
  }
  if (info.subresourceType != CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL) {
    out.add(Rule::kArraySubresourceType);
    return;
  }
  const auto& region = info.subresource.sparseLevel;
  if (of_array && region.level != 0) out.add(Rule::kArrayLevelZero);
  if (region.extentWidth == 0 || region.extentHeight == 0 || region.extentDepth == 0) {
    out.add(Rule::kArrayExtentNonzero);
  }
  if (!known) return;
  // The levels of the tail have no tiles: an H100 refuses them.
  if (region.level >= first_of_tail(*array)) out.demand(CUDA_ERROR_INVALID_VALUE);
  if (wrong_level(*array, info)) out.add(Rule::kArrayTiles);
}

// The rules about the memory to be mapped.
void Reference::judge_tile_memory(Judgement& out, const CUarrayMapInfo& info, int device) const {
  const Named* named =
      judge_handle(out, info.memHandle.memHandle, Rule::kArrayHandleNonzero,
                   Rule::kArrayHandleValid, Rule::kArrayHandleAlive, Rule::kArrayHandleReferenced);
  // A tile in the memory begins at a multiple of its size: an H100 refuses any other offset.
  if (info.offset % kTileBytes != 0) out.demand(CUDA_ERROR_INVALID_VALUE);
  if (!named) return;
  const Memory& memory = memories_[static_cast<std::size_t>(named->memory)];
  const CUmemLocation& place = memory.prop.location;
  if (!(memory.prop.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL)) {
    out.add(Rule::kArrayTilePool);
  }
  const bool there = place.type == CU_MEM_LOCATION_TYPE_DEVICE && place.id == device;
  if (device >= 0 && !there) out.add(Rule::kArrayMemoryDevice);
  bool live = false;
  const ArrayState::Tiled* array = tiled_of(info, live);
  if (info.offset >= memory.size) {
    out.add(Rule::kArrayOffsetInside);
  } else if (array && memory_of(*array, info) > memory.size - info.offset) {
    out.add(Rule::kArrayMemoryRoom);
  }
}

Judgement Reference::judge(const calls::MemMapArrayAsync& call, Actor actor) const {
  Judgement out;
  if (actor.device < 0) {
    out.uncovered = true;
    return out;
  }
  if (call.count == 0) out.demand(CUDA_ERROR_INVALID_VALUE);  // an H100
  if (!call.mapInfoList) out.add(Rule::kArrayListNonnull);
  if (call.count == 0 || !call.mapInfoList) return out;
  const CUarrayMapInfo& info = *call.mapInfoList;
  judge_region(out, info);
  if (info.memHandleType != CU_MEM_HANDLE_TYPE_GENERIC) out.add(Rule::kArrayHandleType);
  if (info.flags != 0) out.add(Rule::kArrayFlagsZero);
  if (info.reserved[0] != 0 || info.reserved[1] != 0) out.add(Rule::kArrayReservedZero);
  const int device = std::countr_zero(info.deviceBitMask);
  const bool one = std::popcount(info.deviceBitMask) == 1 && valid_device(device);
  if (!one) out.add(Rule::kArrayOneDevice);
  // The NULL stream belongs to the current context.
  if (one && device != actor.device) out.add(Rule::kArrayStreamDevice);
  if (info.memOperationType == CU_MEM_OPERATION_TYPE_MAP) {
    judge_tile_memory(out, info, one ? device : -1);
  } else if (info.memOperationType != CU_MEM_OPERATION_TYPE_UNMAP) {
    out.add(Rule::kArrayOperation);
  } else if (info.memHandle.memHandle != 0) {
    out.add(Rule::kArrayUnmapHandle);
  }
  // No document says whether the array of another device may be named.
  const ArrayState::Array* array = array_of(info.resource.array);
  const ArrayState::Mipmap* mipmap = mipmap_of(info.resource.mipmap);
  const bool of_array = info.resourceType == CU_RESOURCE_TYPE_ARRAY;
  const int owner = of_array ? (array ? array->device : -1) : mipmap ? mipmap->device : -1;
  if (owner >= 0 && owner != actor.device) out.loose = true;
  return out;
}

const char* Reference::accept(const calls::MemMapArrayAsync& call) {
  const CUarrayMapInfo& info = *call.mapInfoList;
  if (info.resourceType != CU_RESOURCE_TYPE_ARRAY || of_tail(info)) return nullptr;
  ArrayState::Array* array = array_of(info.resource.array);
  if (!array) return nullptr;
  // No document says which bytes a tile has in new memory, or in memory that other tiles had.
  array->writes.clear();
  if (array->tiled.depth != 0) return nullptr;
  const auto& region = info.subresource.sparseLevel;
  const ArrayState::Box tile = tile_of(array->tiled);
  ++arrays_.calls;
  for (std::uint64_t y = region.offsetY; y < region.offsetY + region.extentHeight; y += tile.y) {
    for (std::uint64_t x = region.offsetX; x < region.offsetX + region.extentWidth; x += tile.x) {
      std::erase_if(array->tiles, [&](const auto& t) { return t.x == x && t.y == y; });
      if (info.memOperationType != CU_MEM_OPERATION_TYPE_MAP) continue;
      const int index = static_cast<int>(handle(info.memHandle.memHandle) - handles_.data());
      array->tiles.push_back({x, y, index, arrays_.calls});
    }
  }
  return nullptr;
}

// Whether the program may touch these bytes of a sparse array: all lie in tiles with memory that
// the program still holds, and no tile of another region may show this memory. No document says
// what a copy of other bytes does.
bool Reference::follows(const ArrayState::Array& array, std::uint64_t x, std::uint64_t y,
                        std::uint64_t width, std::uint64_t rows) const {
  if (!array.tiled.followed) return true;
  const bool sparse = (array.tiled.flags & CUDA_ARRAY3D_SPARSE) != 0;
  if (!sparse || array.mipmap >= 0 || array.tiled.depth != 0) return false;
  const ArrayState::Box tile = tile_of(array.tiled);
  for (std::uint64_t at_y = y / tile.y; at_y * tile.y < y + rows; ++at_y) {
    for (std::uint64_t at_x = x / tile.x; at_x * tile.x < x + width; ++at_x) {
      const ArrayState::Tile* shown = nullptr;
      for (const auto& t : array.tiles) {
        if (t.x == at_x * tile.x && t.y == at_y * tile.y) shown = &t;
      }
      if (!shown || handles_[static_cast<std::size_t>(shown->memory)].references == 0) return false;
      for (const ArrayState::Array& other : arrays_.arrays) {
        for (const auto& t : other.tiles) {
          const bool elsewhere = &other != &array || t.call != shown->call;
          if (other.live && elsewhere && t.memory == shown->memory) return false;
        }
      }
    }
  }
  return true;
}

}  // namespace cuvmm::fuzz
