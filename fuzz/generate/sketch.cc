// SPDX-License-Identifier: Apache-2.0
#include "fuzz/generate/sketch.h"

#include <algorithm>

namespace cuvmm::fuzz {

namespace {

template <class List>
auto find(List& list, std::uint8_t name) {
  return std::find_if(list.begin(), list.end(),
                      [&](const auto& each) { return each.name == name; });
}

// A name that is bound again stands for the new object; the program cannot reach the old one.
template <class List, class Item>
void replace(List& list, Item item) {
  const auto old = find(list, item.name);
  if (old != list.end()) list.erase(old);
  list.push_back(std::move(item));
}

}  // namespace

bool Sketch::Range::vacant(unsigned at, unsigned count) const {
  for (const Mapping& m : mappings) {
    if (at < m.at + m.size && m.at < at + count) return false;
  }
  return true;
}

std::vector<Sketch::Piece> Sketch::pieces() const {
  std::vector<Piece> out;
  for (const Range& range : ranges) {
    for (const Mapping& m : range.mappings) {
      const Memory* behind = memory(m.memory);
      out.push_back({range.name, &m, behind && behind->on_host});
    }
  }
  return out;
}

const Sketch::Memory* Sketch::memory(std::uint8_t name) const {
  const auto found = find(memories, name);
  return found == memories.end() ? nullptr : &*found;
}

bool Sketch::arrived(const Token& token) const {
  const auto source = find(foreign_plains, token.range);
  return token.process != process && !token.pool && source != foreign_plains.end() &&
         source->made == Code::kAlloc;
}

bool Sketch::open_elsewhere(const Plain& plain) const {
  return std::any_of(foreign_plains.begin(), foreign_plains.end(), [&](const Plain& p) {
    return p.made == Code::kIpcOpen && p.owner == plain.name;
  });
}

std::uint8_t Sketch::free_name(NameKind kind, std::uint32_t otherwise) const {
  for (unsigned name = 1; name < 256; ++name) {
    if (!used[static_cast<std::size_t>(kind)][name]) return static_cast<std::uint8_t>(name);
  }
  return static_cast<std::uint8_t>(1 + otherwise % 255);
}

void Sketch::avoid(const Ops& ops) {
  for (const Op& op : ops) used[static_cast<std::size_t>(shape(op.code).makes)][op.name] = true;
}

void Sketch::add_plain(const Plain& plain) {
  std::erase_if(ranges, [&](const Range& r) { return r.name == plain.name; });
  replace(plains, plain);
}

void Sketch::follow_pool(const Op& op) {
  if (op.faults || op.extra || op.odd_size) return;
  const auto pool = find(pools, op.ref);
  const bool known = pool != pools.end();
  switch (op.code) {
    case Code::kPoolCreate:
      if ((op.value & ~1) == 0 && op.place <= kNumaPlace) {
        replace(pools, Pool{op.name, op.place, op.value == 1});
      }
      break;
    case Code::kPoolDefault:
    case Code::kPlaceDefault:
    case Code::kPlaceCurrent:
      if (op.place > kNumaPlace) break;
      replace(pools, Pool{op.name, op.place, false, false, 0, true});
      break;
    case Code::kPoolDestroy:
      if (!known || pool->is_default) break;
      dead.push_back({NameKind::kPool, op.ref});
      pools.erase(pool);
      break;
    case Code::kPoolAlloc:
      if (known && !pool->source && op.size && device[op.actor] >= 0) {
        add_plain({op.name, op.size, op.code, op.ref});
      }
      break;
    case Code::kAlloc:
      if (op.size && device[op.actor] >= 0) add_plain({op.name, op.size, op.code});
      break;
    case Code::kPoolExport:
      if (!known || !pool->shareable || pool->source || op.flags || op.value != 1) break;
      pool->exported = true;
      replace(descriptors, Descriptor{op.name, 0, false, 0, process, op.ref});
      break;
    case Code::kPoolImport: {
      const auto from = find(descriptors, op.ref);
      if (from == descriptors.end() || !from->pool || op.flags || op.value != 1) break;
      replace(pools, Pool{op.name, 0, true, false, from->pool});
      break;
    }
    case Code::kPointerExport:
    case Code::kIpcGet: {
      const auto plain = find(plains, op.ref);
      if (plain == plains.end() || op.at || op.odd) break;
      const bool of_pool = op.code == Code::kPointerExport;
      if (plain->made != (of_pool ? Code::kPoolAlloc : Code::kAlloc)) break;
      const auto owner = find(pools, plain->owner);
      if (of_pool && (owner == pools.end() || !owner->exported)) break;
      replace(tokens, Token{op.name, op.ref, plain->owner, plain->size, process});
      break;
    }
    case Code::kPointerImport: {
      const auto token = find(tokens, op.ref2);
      if (!known || token == tokens.end() || !token->pool || pool->source != token->pool) break;
      add_plain({op.name, token->size, op.code, op.ref});
      break;
    }
    case Code::kIpcOpen: {
      const auto token = find(tokens, op.ref);
      if (token == tokens.end() || !(op.flags & 1) || !arrived(*token)) break;
      if (device[op.actor] >= 0) add_plain({op.name, token->size, op.code, token->range});
      break;
    }
    case Code::kFreeAsync:
    case Code::kIpcClose: {
      const auto ended = find(plains, op.ref);
      if (ended == plains.end() || op.at || op.odd) break;
      const bool opened = ended->made == Code::kIpcOpen;
      if (opened != (op.code == Code::kIpcClose)) break;
      dead.push_back({NameKind::kRange, op.ref, opened});
      plains.erase(ended);
      break;
    }
    default:
      break;
  }
}

bool Sketch::Memory::member(std::uint8_t place) const {
  return std::find(added.begin(), added.end(), place) != added.end();
}

bool Sketch::all_bound(const Memory& object) const {
  for (const std::uint8_t device : object.added) {
    for (unsigned at = 0; at < object.size; ++at) {
      const bool covered =
          std::any_of(object.bound.begin(), object.bound.end(), [&](const Memory::Bound& b) {
            return b.device == device && at >= b.at && at < b.at + b.size;
          });
      if (!covered) return false;
    }
  }
  return !object.missing();
}

void Sketch::follow_multicast(const Op& op) {
  if (op.faults || op.flags || op.odd || op.odd_size || op.odd2) return;
  if (op.code == Code::kMcCreate) {
    const bool sane = op.size && op.extra && op.extra != kAllOnes && op.value < 16;
    if (sane) replace(memories, Memory{op.name, op.size, 1, false, false, 0, op.extra});
    return;
  }
  const auto object = find(memories, op.ref);
  if (object == memories.end() || object->team == 0) return;
  if (op.code == Code::kMcAddDevice) {
    if (object->missing() && !object->member(op.place)) object->added.push_back(op.place);
  } else if (op.code == Code::kMcUnbind) {
    std::erase_if(object->bound, [&](const Memory::Bound& b) {
      return b.device == op.place && b.at == op.at && b.size == op.size;
    });
  } else if (op.code == Code::kMcBindMem || op.code == Code::kMcBindAddr) {
    std::uint8_t name = op.ref2;
    if (op.code == Code::kMcBindAddr) {
      name = 0;
      const auto range = find(ranges, op.ref2);
      if (range == ranges.end()) return;
      for (const Mapping& m : range->mappings) {
        if (op.at2 >= m.at && op.at2 + op.size <= m.at + m.size) name = m.memory;
      }
    }
    const Memory* bound = memory(name);
    if (!bound || object->missing() || !object->member(bound->device)) return;
    if (op.at + op.size > object->size || op.size == 0) return;
    for (const Memory::Bound& b : object->bound) {
      if (b.device == bound->device && op.at < b.at + b.size && b.at < unsigned{op.at} + op.size) {
        return;
      }
    }
    object->bound.push_back({bound->device, op.at, op.size, name});
  }
}

bool Sketch::follow_area(const Op& op) {
  if (is_endpoint(op.code)) {
    follow_endpoint(op);
    return true;
  }
  if (is_multicast(op.code)) {
    follow_multicast(op);
    return true;
  }
  if (is_capture(op.code)) {
    follow_capture(op);
    return true;
  }
  if (op.code >= Code::kArrayMake) {
    follow_array(op);
    return true;
  }
  if (op.code >= Code::kPoolCreate) {
    follow_pool(op);
    return true;
  }
  if (op.faults || op.extra) return op.code >= Code::kExtImport;
  switch (op.code) {
    case Code::kExtImport: {
      const auto from = find(descriptors, op.ref);
      if (from == descriptors.end() || op.value != 1 || op.flags > 1) return true;
      // Some drivers accept a larger size, but no memory lies beyond the end.
      if (!from->pool && op.size) {
        replace(externals, External{op.name, std::min<unsigned>(op.size, from->size),
                                    op.size > from->size, op.flags == 1});
      }
      dead.push_back({NameKind::kDescriptor, op.ref});
      descriptors.erase(from);
      return true;
    }
    case Code::kExtBuffer: {
      const auto from = find(externals, op.ref);
      const bool inside = from != externals.end() && op.at + op.size <= from->size;
      const bool refused = inside && from->dedicated && (op.at || op.odd);
      if (inside && !refused && !op.flags && op.size) add_plain({op.name, op.size});
      return true;
    }
    case Code::kExtDestroy: {
      const auto ended = find(externals, op.ref);
      if (ended == externals.end()) return true;
      dead.push_back({NameKind::kExternal, op.ref});
      externals.erase(ended);
      return true;
    }
    case Code::kMemFree: {
      const auto ended = find(plains, op.ref);
      if (ended == plains.end() || op.at || op.odd || ended->made == Code::kIpcOpen) return true;
      dead.push_back({NameKind::kRange, op.ref});
      plains.erase(ended);
      return true;
    }
    default:
      return false;
  }
}

void Sketch::follow_array(const Op& op) {
  if (op.faults || device[op.actor] < 0) return;
  const auto here = static_cast<std::uint8_t>(device[op.actor]);
  switch (op.code) {
    case Code::kArrayMake:
      replace(arrays, Array{op.name, op.size + 1u, std::max(op.value & 3u, 1u), here});
      break;
    case Code::kMipmapMake:
      replace(mipmaps,
              Mipmap{op.name, op.size + 1u, std::max(op.value & 3u, 1u), op.extra + 1u, here});
      break;
    case Code::kMipmapLevel: {
      const auto mipmap = find(mipmaps, op.ref);
      if (mipmap == mipmaps.end() || op.extra >= mipmap->levels) break;
      replace(arrays, Array{op.name, std::max(mipmap->width >> op.extra, 1u),
                            std::max(mipmap->rows >> op.extra, 1u), here, op.ref, mipmap->kind});
      break;
    }
    case Code::kArrayEnd:
      dead.push_back({NameKind::kArray, op.ref});
      std::erase_if(arrays, [&](const Array& a) { return a.name == op.ref && !a.mipmap; });
      break;
    case Code::kMipmapEnd:
      for (const Array& array : arrays) {
        if (array.mipmap == op.ref) dead.push_back({NameKind::kArray, array.name});
      }
      dead.push_back({NameKind::kMipmap, op.ref});
      std::erase_if(arrays, [&](const Array& a) { return a.mipmap == op.ref; });
      std::erase_if(mipmaps, [&](const Mipmap& m) { return m.name == op.ref; });
      break;
    default:
      follow_tiles(op);
  }
}

void Sketch::follow_tiles(const Op& op) {
  constexpr unsigned kUnit = 64;  // of a side
  const auto here = static_cast<std::uint8_t>(device[op.actor]);
  const unsigned width = ((op.size & 7u) + 1) * kUnit, rows = ((op.value & 7u) + 1) * kUnit;
  switch (op.code) {
    case Code::kTileCreate:
      if (op.size != 0 && op.place < kHostPlace) replace(tile_pools, TilePool{op.name, op.place});
      break;
    case Code::kTiledMake:
      replace(arrays, Array{op.name, width, rows, here, 0, op.flags});
      break;
    case Code::kTiledMipmapMake:
      replace(mipmaps, Mipmap{op.name, width, rows, op.extra + 1u, here, op.flags});
      break;
    case Code::kTilesMap:
      for (Array& array : arrays) {
        const bool all = op.size * kUnit == array.width && op.odd_size * kUnit == array.rows;
        if (array.name == op.ref) array.shown = all && (op.value & 3) == kMapTiles;
      }
      break;
    default:
      break;
  }
}

void Sketch::turn_to(int which) {
  if (which == process) return;
  process = which;
  ranges.swap(foreign_ranges);
  memories.swap(foreign_memories);
  plains.swap(foreign_plains);
}

void Sketch::follow(const Op& op) {
  turn_to(process_of(op));
  used[static_cast<std::size_t>(shape(op.code).makes)][op.name] = true;
  // The sketch ignores calls that look like faults; a wrong guess does no harm.
  if (follow_area(op)) return;
  if (op.faults || op.flags || op.odd_size) return;
  const bool data = op.code >= Code::kFill;
  if (op.odd && !data) return;
  switch (op.code) {
    case Code::kContext:
      device[op.actor] = op.place;
      break;
    case Code::kReserve:
    case Code::kFree:
    case Code::kMap:
    case Code::kUnmap:
    case Code::kSetAccess:
      follow_range(op);
      break;
    case Code::kCreate:
    case Code::kRelease:
    case Code::kRetain:
      follow_memory(op);
      break;
    case Code::kExport:
    case Code::kImport:
    case Code::kClose:
      follow_descriptor(op);
      break;
    default:
      break;
  }
}

void Sketch::follow_range(const Op& op) {
  const auto range = find(ranges, op.ref);
  const unsigned end = op.at + op.size;
  switch (op.code) {
    case Code::kReserve:
      if (!op.size) break;
      std::erase_if(plains, [&](const Plain& p) { return p.name == op.name; });
      replace(ranges, Range{op.name, op.size, {}});
      break;
    case Code::kFree:
      if (range == ranges.end() || op.at || op.size != range->size || !range->mappings.empty())
        break;
      dead.push_back({NameKind::kRange, op.ref});
      ranges.erase(range);
      break;
    case Code::kMap:
      if (range == ranges.end() || !memory(op.ref2) || op.extra) break;
      if (end <= range->size && range->vacant(op.at, op.size) && memory(op.ref2)->size == op.size) {
        range->mappings.push_back({op.at, op.size, op.ref2});
      }
      break;
    case Code::kUnmap:
      if (range == ranges.end()) break;
      std::erase_if(range->mappings,
                    [&](const Mapping& m) { return m.at >= op.at && m.at + m.size <= end; });
      break;
    case Code::kSetAccess:
      if (range == ranges.end() || op.place > kNumaPlace) break;
      for (Mapping& m : range->mappings) {
        if (m.at < op.at || m.at + m.size > end) continue;
        m.access[std::min<std::uint8_t>(op.place, kHostPlace)] = op.value;
        if (op.extra && op.extra <= kHostPlace) m.access[op.extra - 1] = 3;
      }
      break;
    default:
      break;
  }
}

void Sketch::follow_memory(const Op& op) {
  switch (op.code) {
    case Code::kCreate:
      if (op.extra > 2 || !op.size) break;
      replace(memories, Memory{op.name, op.size, 1, (op.value & 1) != 0,
                               op.place == kHostPlace || op.place == kNumaPlace, op.place});
      break;
    case Code::kRelease: {
      const auto memory = find(memories, op.ref);
      if (memory == memories.end() || memory->references == 0) break;
      if (--memory->references == 0) dead.push_back({NameKind::kMemory, op.ref});
      break;
    }
    case Code::kRetain: {
      const auto range = find(ranges, op.ref);
      if (range == ranges.end()) break;
      for (const Mapping& m : range->mappings) {
        if (op.at < m.at || op.at >= m.at + m.size) continue;
        // Two names for one handle: each keeps one reference.
        const Memory* source = memory(m.memory);
        if (source)
          replace(memories, Memory{op.name, source->size, 1, source->exportable, source->on_host,
                                   source->device});
        break;
      }
      break;
    }
    default:
      break;
  }
}

void Sketch::follow_descriptor(const Op& op) {
  switch (op.code) {
    case Code::kExport:
      if (const Memory* source = memory(op.ref)) {
        replace(descriptors,
                Descriptor{op.name, source->size, source->on_host, source->device, process});
      }
      break;
    case Code::kImport: {
      const auto from = find(descriptors, op.ref);
      if (from == descriptors.end() || from->pool) break;
      Memory made{op.name, from->size, 1, false, from->on_host, from->device};
      made.imported = true;
      replace(memories, std::move(made));
      break;
    }
    case Code::kClose: {
      const auto closed = find(descriptors, op.ref);
      if (closed == descriptors.end()) break;
      dead.push_back({NameKind::kDescriptor, op.ref});
      descriptors.erase(closed);
      break;
    }
    default:
      break;
  }
}

}  // namespace cuvmm::fuzz
