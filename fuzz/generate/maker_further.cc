// SPDX-License-Identifier: Apache-2.0
// Makes the calls that came after the recordings: is_further() in fuzz/ops/op.h.
#include <algorithm>

#include "fuzz/generate/maker.h"

namespace cuvmm::fuzz {

// Chooses one of the calls that the style allows, or a call that makes an object that it needs.
Code Maker::next_further(const Sketch& now) {
  Code codes[kCodes];
  std::uint32_t count = 0;
  for (auto code = static_cast<std::size_t>(kFirstFurther); code < kCodes; ++code) {
    if (style_.allows(static_cast<Code>(code))) codes[count++] = static_cast<Code>(code);
  }
  const Code one = codes[random_.below(count)];
  if (shape(one).ref == NameKind::kPool && now.pools.empty()) {
    return random_.chance(70) ? Code::kPoolCreate : Code::kPoolDefault;
  }
  const bool tiled =
      style_.allows(Code::kTiledMake) && (!style_.allows(Code::kArrayMake) || random_.chance(50));
  const auto is_tiled = [](const auto& each) { return each.kind != Sketch::kNoTiles; };
  if (one == Code::kTilesMap || one == Code::kMipmapTilesMap) {
    if (now.tile_pools.empty()) return Code::kTileCreate;
    const bool some = one == Code::kTilesMap
                          ? std::any_of(now.arrays.begin(), now.arrays.end(), is_tiled)
                          : std::any_of(now.mipmaps.begin(), now.mipmaps.end(), is_tiled);
    if (!some) return one == Code::kTilesMap ? Code::kTiledMake : Code::kTiledMipmapMake;
  }
  if (shape(one).ref == NameKind::kArray && now.arrays.empty()) {
    return tiled ? Code::kTiledMake : Code::kArrayMake;
  }
  if (shape(one).ref == NameKind::kMipmap && now.mipmaps.empty()) {
    return tiled ? Code::kTiledMipmapMake : Code::kMipmapMake;
  }
  // An array is made for several copies.
  const bool ends = one == Code::kArrayEnd || one == Code::kMipmapEnd;
  if (ends && random_.chance(50)) return Code::kArrayRead;
  return one;
}

bool Maker::further(Op& op, const Sketch& now) {
  switch (op.code) {
    case Code::kPoolTrim:
    case Code::kPoolAsk:
    case Code::kPoolTell:
      return ask_pool(op, now);
    case Code::kWriteWord:
    case Code::kWordBatch:
      return write_words(op, now);
    case Code::kPlaceDefault:
    case Code::kPlaceCurrent:
    case Code::kPlaceSet:
      return place_pool(op, now);
    case Code::kPrefetch:
    case Code::kAdvise:
    case Code::kWhereIs:
      // Never legal, because no memory of these programs is managed.
      op.value = byte(1 + random_.below(6));
      op.place = random_.chance(70) ? device() : random_.chance(50) ? kHostPlace : kNumaPlace;
      return random_.chance(20) && any_memory(op, now);
    default:
      return op.code >= Code::kTileCreate ? tiled(op, now) : array(op, now);
  }
}

// Sparse arrays. A side is a multiple of 64 elements, and a tile of two dimensions is four of
// these.
bool Maker::tiled(Op& op, const Sketch& now) {
  const int device = now.device[op.actor];
  const auto here = [&](const auto& object) { return object.device == device; };
  const auto side = [&] {
    return byte(random_.chance(60) ? 3 + 4 * random_.below(2) : random_.below(8));
  };
  switch (op.code) {
    case Code::kTileCreate:
      op.size = byte(1 + random_.below(2));
      op.place = byte(static_cast<std::uint32_t>(std::max(device, 0)));
      op.name = now.free_name(NameKind::kMemory, random_.below(256));
      return true;
    case Code::kTiledMake:
    case Code::kTiledMipmapMake:
      op.size = side();
      op.value = side();
      op.flags = byte(random_.chance(60) ? 0 : random_.below(kTiledKinds));
      op.extra = byte(op.code == Code::kTiledMipmapMake ? random_.below(4) : 0);
      op.name = now.free_name(shape(op.code).makes, random_.below(256));
      return device >= 0;
    case Code::kTilesAsk:
      return any(now.arrays, op.ref, here);
    case Code::kMipmapTilesAsk:
      return any(now.mipmaps, op.ref, here);
    default:
      return map_tiles(op, now);
  }
}

// Maps all tiles of an array or level, one tile, or the first of a tail; or unmaps them.
bool Maker::map_tiles(Op& op, const Sketch& now) {
  constexpr unsigned kUnit = 64, kTile = 4;  // elements; units
  const int device = now.device[op.actor];
  const auto fits = [&](const auto& each) {
    return each.device == device && each.kind != Sketch::kNoTiles;
  };
  unsigned width = 0, rows = 0, kind = 0;
  const auto take = [&](const auto& list) {
    if (!any(list, op.ref, fits)) return false;
    for (const auto& each : list) {
      if (each.name == op.ref)
        width = each.width / kUnit, rows = each.rows / kUnit, kind = each.kind;
    }
    return true;
  };
  const bool mipmap = op.code == Code::kMipmapTilesMap;
  if (!(mipmap ? take(now.mipmaps) : take(now.arrays))) return false;
  const auto near = [&](const auto& pool) { return pool.device == device; };
  const bool maps = random_.chance(75) && any(now.tile_pools, op.ref2, near);
  op.value = maps ? kMapTiles : kUnmapTiles;
  op.place = byte(static_cast<std::uint32_t>(std::max(device, 0)));
  // Now and then the memory of a granule has too little room for four tiles.
  if (maps) op.at2 = byte(random_.chance(8) ? 29 + random_.below(3) : random_.below(28));
  const bool deep = tiled_kind(byte(kind)).depth != 0 && kind == 2;
  if (kind == 1) op.value |= byte(random_.below(2) << 4);  // the layer
  const bool tail = !deep && (width < kTile || rows < kTile || (mipmap && random_.chance(40)));
  if (tail) {
    op.value |= kTail;
    op.size = 2;
    return true;
  }
  if (deep) {
    op.extra = 1 << 3;
    op.at = byte(random_.below(width));
    op.size = op.odd_size = 1;
    return true;
  }
  op.size = byte(width);
  op.odd_size = byte(rows);
  if (mipmap || random_.chance(50)) return true;
  op.at = byte(random_.below((width + kTile - 1) / kTile) * kTile);
  op.size = byte(std::min(kTile, width - op.at));
  op.odd_size = byte(std::min(kTile, rows));
  return true;
}

bool Maker::array(Op& op, const Sketch& now) {
  const int device = now.device[op.actor];
  const auto here = [&](const auto& object) { return object.device == device; };
  switch (op.code) {
    case Code::kArrayMake:
    case Code::kMipmapMake:
      op.size = byte(random_.below(random_.chance(70) ? 64 : 256));
      op.value = byte(random_.below(4));
      op.extra = byte(op.code == Code::kMipmapMake ? random_.below(4) : 0);
      op.name = now.free_name(shape(op.code).makes, random_.below(256));
      return device >= 0;
    case Code::kArrayEnd:
      return any(now.arrays, op.ref, [&](const auto& a) { return here(a) && !a.mipmap; });
    case Code::kMipmapLevel:
      if (!any(now.mipmaps, op.ref, here)) return false;
      for (const Sketch::Mipmap& mipmap : now.mipmaps) {
        if (mipmap.name == op.ref) op.extra = byte(random_.below(mipmap.levels));
      }
      op.name = now.free_name(NameKind::kArray, random_.below(256));
      return true;
    case Code::kMipmapEnd:
      return any(now.mipmaps, op.ref, here);
    default:
      return touch_array(op, now);
  }
}

// A copy between an array's first row and host memory, or device memory.
bool Maker::touch_array(Op& op, const Sketch& now) {
  const bool block = op.code == Code::kBlockFill || op.code == Code::kBlockCopy;
  const bool by_host = op.code == Code::kArrayWrite || op.code == Code::kArrayRead;
  if (!by_host) {
    Op side;
    side.actor = op.actor;
    side.code =
        op.code == Code::kArrayFill || op.code == Code::kBlockFill ? Code::kRead : Code::kFill;
    if (!data(side, now, false)) return false;
    op.ref2 = side.ref;
    op.at2 = side.at;
    op.odd2 = side.odd;
  }
  const int device = now.device[op.actor];
  const auto copies = [&](const auto& a) { return a.device == device && a.copies(); };
  if (!any(now.arrays, op.ref, copies)) return false;
  for (const Sketch::Array& array : now.arrays) {
    if (array.name != op.ref) continue;
    op.at = byte(random_.chance(50) ? 0 : random_.below(std::min(array.width, 256u)));
    op.size = byte(1 + random_.below(std::min(array.width - op.at, 48u)));
    if (!block) continue;
    const unsigned rows = std::min(array.rows, 7u);  // that an op can name
    op.extra = byte(random_.below(rows));
    op.value = byte(1 + random_.below(rows - op.extra));
    op.odd_size = byte(random_.below(4));
  }
  if (block) return true;
  op.value = byte(1 + random_.below(254));
  return true;
}

bool Maker::ask_pool(Op& op, const Sketch& now) {
  if (!any(now.pools, op.ref, [](const auto&) { return true; })) return false;
  if (op.code == Code::kPoolAsk) {
    op.value = byte(1 + random_.below(8));
    return true;
  }
  op.size = byte(random_.below(random_.chance(80) ? 3 : 40));
  if (op.code == Code::kPoolTrim) return true;
  constexpr std::uint8_t kSettable[] = {1, 2, 3, 4, 4, 4, 6, 8};
  op.value = kSettable[random_.below(std::size(kSettable))];
  if (op.value > 4) op.size = 0;                                            // a mark begins anew
  if (op.value < 4) op.size = 0, op.odd_size = random_.chance(50) ? 2 : 0;  // 1 or 0
  return true;
}

bool Maker::write_words(Op& op, const Sketch& now) {
  if (!data(op, now, op.code == Code::kWordBatch)) return false;
  const unsigned follower = random_.chance(10) ? kThenFlush : random_.below(kThenFlush);
  op.extra = word_extra(op.code == Code::kWordBatch ? follower : 0, random_.chance(50));
  return true;
}

bool Maker::place_pool(Op& op, const Sketch& now) {
  if (op.code == Code::kPlaceSet) {
    if (!any(now.pools, op.ref, [](const Sketch::Pool& p) { return !p.source; })) return false;
    for (const Sketch::Pool& p : now.pools) {
      if (p.name == op.ref) op.place = p.device;
    }
    return true;
  }
  op.place = random_.chance(75) ? device() : random_.chance(50) ? kHostPlace : kNumaPlace;
  op.name = now.free_name(NameKind::kPool, random_.below(256));
  return true;
}

// A reservation, mapped or not, or memory with an address of its own.
bool Maker::any_memory(Op& op, const Sketch& now) {
  const auto every = [](const auto&) { return true; };
  if (random_.chance(50) && any(now.plains, op.ref, every)) {
    op.size = 1;
    return true;
  }
  if (!any(now.ranges, op.ref, every)) return false;
  for (const Sketch::Range& range : now.ranges) {
    if (range.name == op.ref) op.at = byte(random_.below(range.size));
  }
  op.size = byte(1 + random_.below(2));
  return true;
}

}  // namespace cuvmm::fuzz
