#include "fuzz/sketch.h"

#include <algorithm>

namespace cuvmm::fuzz {

namespace {

template <class List>
auto find(List& list, std::uint8_t name) {
  return std::find_if(list.begin(), list.end(),
                      [&](const auto& each) { return each.name == name; });
}

// A name bound again stands for the new object; the old one cannot be reached any more.
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

std::uint8_t Sketch::free_name(NameKind kind, std::uint32_t otherwise) const {
  for (unsigned name = 1; name < 256; ++name) {
    if (!used[static_cast<std::size_t>(kind)][name]) return static_cast<std::uint8_t>(name);
  }
  return static_cast<std::uint8_t>(1 + otherwise % 255);
}

void Sketch::avoid(const Ops& ops) {
  for (const Op& op : ops) used[static_cast<std::size_t>(shape(op.code).makes)][op.name] = true;
}

void Sketch::add_plain(std::uint8_t name, unsigned size) {
  std::erase_if(ranges, [&](const Range& r) { return r.name == name; });
  replace(plains, Plain{name, size});
}

bool Sketch::follow_area(const Op& op) {
  if (op.faults || op.extra) return op.code >= Code::kExtImport;
  switch (op.code) {
    case Code::kExtImport: {
      const auto from = find(descriptors, op.ref);
      if (from == descriptors.end() || op.value != 1 || op.flags > 1) return true;
      const Memory* source = memory(from->memory);
      // A claim of another size is accepted by some, but nothing beyond is there.
      if (source && op.size) {
        replace(externals, External{op.name, std::min<unsigned>(op.size, source->size),
                                    op.size > source->size});
      }
      dead.push_back({NameKind::kDescriptor, op.ref});
      descriptors.erase(from);
      return true;
    }
    case Code::kExtBuffer: {
      const auto from = find(externals, op.ref);
      const bool inside = from != externals.end() && op.at + op.size <= from->size;
      if (inside && !op.flags && op.size) add_plain(op.name, op.size);
      return true;
    }
    case Code::kExtDestroy: {
      const auto gone = find(externals, op.ref);
      if (gone == externals.end()) return true;
      dead.push_back({NameKind::kExternal, op.ref});
      externals.erase(gone);
      return true;
    }
    case Code::kMemFree: {
      const auto gone = find(plains, op.ref);
      if (gone == plains.end() || op.at || op.odd) return true;
      dead.push_back({NameKind::kRange, op.ref});
      plains.erase(gone);
      return true;
    }
    default:
      return false;
  }
}

void Sketch::follow(const Op& op) {
  used[static_cast<std::size_t>(shape(op.code).makes)][op.name] = true;
  // What looks like a fault changes nothing; being wrong now and then does no harm.
  if (follow_area(op)) return;
  if (op.faults || op.flags || op.odd_size) return;
  const bool data = op.code >= Code::kFill;
  if (op.odd && !data) return;
  const auto range = find(ranges, op.ref);
  const unsigned end = op.at + op.size;
  switch (op.code) {
    case Code::kContext:
      device[op.actor] = op.place;
      break;
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
    case Code::kCreate:
      if (op.extra > 2 || !op.size) break;
      replace(memories, Memory{op.name, op.size, 1, (op.value & 1) != 0,
                               op.place == kHostPlace || op.place == kNumaPlace});
      break;
    case Code::kRelease: {
      const auto memory = find(memories, op.ref);
      if (memory == memories.end() || memory->references == 0) break;
      if (--memory->references == 0) dead.push_back({NameKind::kMemory, op.ref});
      break;
    }
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
    case Code::kExport:
      replace(descriptors, Descriptor{op.name, op.ref});
      break;
    case Code::kImport: {
      const auto from = find(descriptors, op.ref);
      const Memory* source = from == descriptors.end() ? nullptr : memory(from->memory);
      if (source) replace(memories, Memory{op.name, source->size, 1, false, source->on_host});
      break;
    }
    case Code::kClose: {
      const auto closed = find(descriptors, op.ref);
      if (closed == descriptors.end()) break;
      dead.push_back({NameKind::kDescriptor, op.ref});
      descriptors.erase(closed);
      break;
    }
    case Code::kRetain: {
      if (range == ranges.end()) break;
      for (const Mapping& m : range->mappings) {
        if (op.at < m.at || op.at >= m.at + m.size) continue;
        // Two names for one handle: each keeps one reference.
        const Memory* source = memory(m.memory);
        if (source)
          replace(memories, Memory{op.name, source->size, 1, source->exportable, source->on_host});
        break;
      }
      break;
    }
    default:
      break;
  }
}

}  // namespace cuvmm::fuzz
