// SPDX-License-Identifier: Apache-2.0
// Makes the calls of virtual memory management.
#include "fuzz/generate/maker.h"

namespace cuvmm::fuzz {

bool Maker::virtual_memory(Op& op, const Sketch& now) {
  switch (op.code) {
    case Code::kContext:
      op.place = device();
      return true;
    case Code::kReserve:
      op.name = now.free_name(NameKind::kRange, random_.below(256));
      op.size = byte(1 + random_.below(style_.granules));
      if (random_.chance(15)) op.extra = byte(random_.below(4));
      return true;
    case Code::kFree:
      return free_reservation(op, now);
    case Code::kCreate:
      create(op, now);
      return true;
    case Code::kRelease:
    case Code::kProperties:
      return reference(op.ref, now);
    case Code::kExport:
      return export_memory(op, now);
    case Code::kImport:
    case Code::kClose:
      return take_descriptor(op, now);
    case Code::kMap:
      return map(op, now);
    case Code::kUnmap:
      return mapped_run(op, now).has_value();
    case Code::kSetAccess:
      return give_access(op, now);
    case Code::kGetAccess:
    case Code::kRetain:
    case Code::kRangeHandle:
      return ask_about_mapping(op, now);
    case Code::kGranularity:
      op.place = random_.chance(30) ? kHostPlace : device();
      if (random_.chance(40)) op.value = 16;
      return true;
    default:
      return false;
  }
}

bool Maker::free_reservation(Op& op, const Sketch& now) {
  std::vector<const Sketch::Range*> empty;
  for (const auto& range : now.ranges) {
    if (range.mappings.empty()) empty.push_back(&range);
  }
  if (empty.empty()) return false;
  const auto* range = pick(empty, random_);
  op.ref = range->name;
  op.size = byte(range->size);
  return true;
}

void Maker::create(Op& op, const Sketch& now) {
  op.name = now.free_name(NameKind::kMemory, random_.below(256));
  op.size = byte(1 + random_.below(style_.pieces));
  op.place = random_.chance(8) ? (random_.chance(50) ? kHostPlace : kNumaPlace) : device();
  if (random_.chance(style_.processes > 1 ? 80 : 40) && op.place != kHostPlace) {
    op.value = kPosix;
  }
  if (random_.chance(10)) op.extra = byte(1 + random_.below(2));
}

bool Maker::export_memory(Op& op, const Sketch& now) {
  const bool found = any(now.memories, op.ref, [](const Sketch::Memory& memory) {
    return memory.exportable && memory.references > 0;
  });
  if (!found) return false;
  op.value = kPosix;
  op.name = now.free_name(NameKind::kDescriptor, random_.below(256));
  return true;
}

bool Maker::take_descriptor(Op& op, const Sketch& now) {
  if (now.descriptors.empty()) return false;
  if (op.code == Code::kImport && now.descriptors.back().pool && random_.chance(95)) {
    return false;
  }
  op.ref = pick(now.descriptors, random_).name;
  if (op.code == Code::kImport && style_.processes > 1 && random_.chance(80)) {
    for (const auto& descriptor : now.descriptors) {
      if (descriptor.process != now.process && !descriptor.pool) op.ref = descriptor.name;
    }
  }
  op.value = kPosix;
  op.name = now.free_name(NameKind::kMemory, random_.below(256));
  return true;
}

bool Maker::map(Op& op, const Sketch& now) {
  if (!reference(op.ref2, now) || now.ranges.empty()) return false;
  if (const auto* team = now.memory(op.ref2); team->missing() && !random_.chance(5)) {
    return false;
  }
  const unsigned size = now.memory(op.ref2)->size;
  // The first vacant run from a random place.
  const auto& range = pick(now.ranges, random_);
  op.ref = range.name;
  op.size = byte(size);
  const unsigned start = random_.below(range.size);
  for (unsigned i = 0; i < range.size; ++i) {
    const unsigned at = (start + i) % range.size;
    if (at + size > range.size || !range.vacant(at, size)) continue;
    op.at = byte(at);
    return true;
  }
  return false;
}

std::optional<Sketch::Piece> Maker::mapped_run(Op& op, const Sketch& now) {
  const auto mappings = now.pieces();
  if (mappings.empty()) return std::nullopt;
  const auto& piece = pick(mappings, random_);
  op.ref = piece.range;
  op.at = byte(piece.mapping->at);
  unsigned end = piece.mapping->at + piece.mapping->size;
  // Takes several neighbours at once.
  for (const auto& next : mappings) {
    if (next.range == piece.range && next.mapping->at == end && random_.chance(40)) {
      end += next.mapping->size;
    }
  }
  op.size = byte(end - piece.mapping->at);
  return piece;
}

bool Maker::give_access(Op& op, const Sketch& now) {
  const auto piece = mapped_run(op, now);
  if (!piece) return false;
  op.place = piece->on_host && random_.chance(40) ? kHostPlace : device();
  if (const auto* team = now.memory(piece->mapping->memory); team && !team->added.empty()) {
    if (random_.chance(95)) op.place = pick(team->added, random_);
  }
  op.value = random_.chance(75) ? 3 : random_.chance(60) ? 1 : 0;
  if (style_.devices > 1 && random_.chance(20)) op.extra = byte(1 + device());
  return true;
}

bool Maker::ask_about_mapping(Op& op, const Sketch& now) {
  const auto mappings = now.pieces();
  if (mappings.empty()) return false;
  const auto& piece = pick(mappings, random_);
  op.ref = piece.range;
  op.at = byte(piece.mapping->at);
  if (op.code != Code::kRangeHandle) op.at = byte(op.at + random_.below(piece.mapping->size));
  op.size = byte(piece.mapping->size);
  op.value = 1;
  op.place = random_.chance(15) ? byte(kHostPlace + random_.below(2)) : device();
  const NameKind makes = shape(op.code).makes;
  if (makes != NameKind::kNone) op.name = now.free_name(makes, random_.below(256));
  return true;
}

bool Maker::reference(std::uint8_t& ref, const Sketch& now) {
  return any(now.memories, ref, [](const Sketch::Memory& memory) { return memory.references > 0; });
}

}  // namespace cuvmm::fuzz
