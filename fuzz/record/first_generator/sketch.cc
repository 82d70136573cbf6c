// SPDX-License-Identifier: Apache-2.0
#include "fuzz/record/first_generator/sketch.h"

#include <algorithm>

namespace cuvmm::fuzz::first {

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

std::uint8_t Sketch::free_name(NameKind kind, std::uint32_t otherwise) const {
  for (unsigned name = 1; name < 256; ++name) {
    if (!used[static_cast<std::size_t>(kind)][name]) return static_cast<std::uint8_t>(name);
  }
  return static_cast<std::uint8_t>(1 + otherwise % 255);
}

void Sketch::turn_to(int which) {
  if (which == process) return;
  process = which;
  ranges.swap(foreign_ranges);
  memories.swap(foreign_memories);
}

void Sketch::follow(const Op& op) {
  turn_to(process_of(op));
  used[static_cast<std::size_t>(shape(op.code).makes)][op.name] = true;
  // The sketch ignores calls that look like faults; a wrong guess does no harm.
  if (op.faults || op.flags || op.odd_size) return;
  const bool data = op.code >= Code::kFill;
  if (op.odd && !data) return;
  const auto range = find(ranges, op.ref);
  switch (op.code) {
    case Code::kContext:
      device[op.actor] = op.place;
      break;
    case Code::kReserve:
      if (op.size) replace(ranges, Range{op.name, op.size, {}});
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
    case Code::kUnmap:
    case Code::kSetAccess:
      if (range != ranges.end()) follow_mapping(op, *range);
      break;
    case Code::kRetain:
      if (range != ranges.end()) follow_retain(op, *range);
      break;
    default:
      follow_descriptor(op);
  }
}

void Sketch::follow_mapping(const Op& op, Range& range) {
  const unsigned end = op.at + op.size;
  switch (op.code) {
    case Code::kMap:
      if (!memory(op.ref2) || op.extra) break;
      if (end <= range.size && range.vacant(op.at, op.size) && memory(op.ref2)->size == op.size) {
        range.mappings.push_back({op.at, op.size, op.ref2});
      }
      break;
    case Code::kUnmap:
      std::erase_if(range.mappings,
                    [&](const Mapping& m) { return m.at >= op.at && m.at + m.size <= end; });
      break;
    case Code::kSetAccess:
      if (op.place > kNumaPlace) break;
      for (Mapping& m : range.mappings) {
        if (m.at < op.at || m.at + m.size > end) continue;
        m.access[std::min<std::uint8_t>(op.place, kHostPlace)] = op.value;
        if (op.extra && op.extra <= kHostPlace) m.access[op.extra - 1] = 3;
      }
      break;
    default:
      break;
  }
}

void Sketch::follow_descriptor(const Op& op) {
  switch (op.code) {
    case Code::kExport:
      if (const Memory* source = memory(op.ref)) {
        replace(descriptors, Descriptor{op.name, source->size, source->on_host, process});
      }
      break;
    case Code::kImport: {
      const auto from = find(descriptors, op.ref);
      if (from == descriptors.end()) break;
      replace(memories, Memory{op.name, from->size, 1, false, from->on_host, true});
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

void Sketch::follow_retain(const Op& op, const Range& range) {
  for (const Mapping& m : range.mappings) {
    if (op.at < m.at || op.at >= m.at + m.size) continue;
    // Two names for one handle: each keeps one reference.
    const Memory* source = memory(m.memory);
    if (source)
      replace(memories, Memory{op.name, source->size, 1, source->exportable, source->on_host});
    break;
  }
}

}  // namespace cuvmm::fuzz::first
