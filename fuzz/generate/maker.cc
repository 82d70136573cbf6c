// SPDX-License-Identifier: Apache-2.0
// Chooses the next call, makes the calls of data, and makes mistakes.
#include "fuzz/generate/maker.h"

#include <algorithm>

namespace cuvmm::fuzz {

Op Maker::make(Sketch& now) {
  for (int attempt = 0; attempt < 12; ++attempt) {
    Op op;
    if (style_.processes > 1 && random_.chance(50)) op.actor = actor_of(1, 0);
    now.turn_to(process_of(op));
    op.code = choose(now);
    if (!style_.allows(op.code) || loses_capture(op.code, now)) continue;
    if (is_multicast(op.code) && !is_endpoint(op.code) && !style_.multicast) continue;
    if (is_endpoint(op.code) && !style_.endpoints) continue;
    if (!crosses(op.code)) {
      op.actor = 0;
      now.turn_to(0);
    }
    if (style_.threads > 1 && process_of(op) == 0) op.actor = byte(random_.below(style_.threads));
    if (!fill(op, now)) continue;
    if (random_.chance(style_.faults)) spoil(op, now);
    canonicalise(op);
    return op;
  }
  Op op;
  op.code = Code::kGranularity;
  return op;
}

// Chooses a call that makes a missing object first; otherwise all calls, as often as programs make
// them.
Code Maker::choose(const Sketch& now) {
  if (now.ranges.empty() && random_.chance(60)) return Code::kReserve;
  if (style_.endpoints && random_.chance(45)) return next_of_endpoint(now);
  if (style_.allows(Code::kStreamMake) && random_.chance(now.capturing() ? 50 : 20)) {
    return next_of_capture(now);
  }
  if (style_.further && random_.chance(25)) return next_further(now);
  if (style_.processes > 1 && random_.chance(40)) {
    const bool plain = style_.allows(Code::kIpcOpen);
    return plain && random_.chance(40) ? hand_over_plain(now) : hand_over(now);
  }
  if (now.memories.empty() && random_.chance(60)) return Code::kCreate;
  if (now.externals.empty() && !now.descriptors.empty() && random_.chance(15)) {
    return Code::kExtImport;
  }
  // The objects of an area are used only by several of its calls together.
  const auto one_of = [&](Code first, Code last) {
    const auto low = static_cast<std::uint32_t>(first);
    return static_cast<Code>(low + random_.below(static_cast<std::uint32_t>(last) - low + 1));
  };
  if (!now.pools.empty() && random_.chance(20)) {
    return random_.chance(40) ? share_pool(now) : one_of(Code::kPoolCreate, Code::kPointerImport);
  }
  const bool team = std::any_of(now.memories.begin(), now.memories.end(),
                                [](const auto& memory) { return memory.team != 0; });
  if (team && random_.chance(25)) return one_of(Code::kMcAddDevice, Code::kMcUnbind);
  if (!now.plains.empty() && random_.chance(10)) return one_of(Code::kAlloc, Code::kIpcOpen);
  struct Weight {
    Code code;
    unsigned weight;
  };
  static constexpr Weight kWeights[] = {
      {Code::kReserve, 8},       {Code::kFree, 5},          {Code::kCreate, 10},
      {Code::kRelease, 7},       {Code::kMap, 20},          {Code::kUnmap, 10},
      {Code::kSetAccess, 16},    {Code::kGetAccess, 6},     {Code::kExport, 4},
      {Code::kImport, 4},        {Code::kClose, 3},         {Code::kGranularity, 2},
      {Code::kProperties, 3},    {Code::kRetain, 4},        {Code::kRangeHandle, 3},
      {Code::kFill, 8},          {Code::kRead, 8},          {Code::kWrite, 6},
      {Code::kCopy, 5},          {Code::kContext, 2},       {Code::kMemFree, 3},
      {Code::kExtImport, 4},     {Code::kExtBuffer, 7},     {Code::kExtDestroy, 2},
      {Code::kMcCreate, 5},      {Code::kMcAddDevice, 12},  {Code::kMcBindMem, 12},
      {Code::kMcBindAddr, 6},    {Code::kMcUnbind, 5},      {Code::kMcGranularity, 2},
      {Code::kPoolCreate, 4},    {Code::kPoolDefault, 1},   {Code::kPoolDestroy, 1},
      {Code::kPoolAlloc, 7},     {Code::kFreeAsync, 3},     {Code::kPoolSetAccess, 3},
      {Code::kPoolSet, 2},       {Code::kPoolExport, 3},    {Code::kPoolImport, 3},
      {Code::kPointerExport, 4}, {Code::kPointerImport, 4}, {Code::kAlloc, 4},
      {Code::kIpcGet, 4},        {Code::kIpcOpen, 1},       {Code::kIpcClose, 1}};
  unsigned total = 0;
  for (const Weight& w : kWeights) total += w.weight;
  unsigned at = random_.below(total);
  for (const Weight& w : kWeights) {
    if (at < w.weight) return w.code;
    at -= w.weight;
  }
  return Code::kMap;
}

// The next step that passes memory from one process to the other.
Code Maker::hand_over(const Sketch& now) {
  const bool arrived =
      std::any_of(now.descriptors.begin(), now.descriptors.end(),
                  [&](const auto& d) { return d.process != now.process && !d.pool; });
  const bool imported = std::any_of(now.memories.begin(), now.memories.end(),
                                    [](const auto& m) { return m.imported && m.references; });
  const bool exportable = std::any_of(now.memories.begin(), now.memories.end(),
                                      [](const auto& m) { return m.exportable && m.references; });
  if (arrived && (!imported || random_.chance(10))) return Code::kImport;
  if (exportable && (now.descriptors.empty() || random_.chance(10))) return Code::kExport;
  if (now.memories.empty()) return Code::kCreate;
  const auto mappings = now.pieces();
  if (mappings.empty()) return Code::kMap;
  const int device = now.device[actor_of(now.process, 0)];
  const bool usable = std::any_of(mappings.begin(), mappings.end(), [&](const auto& piece) {
    return device >= 0 && piece.mapping->access[device] == 3;
  });
  if (!usable) return Code::kSetAccess;
  return touch();
}

Code Maker::touch() {
  constexpr Code kData[] = {Code::kFill, Code::kRead, Code::kRead, Code::kWrite, Code::kCopy};
  return kData[random_.below(std::size(kData))];
}

bool Maker::data(Op& op, const Sketch& now, bool second) {
  const int device = now.device[op.actor];
  struct Usable {
    std::uint8_t name;
    unsigned at, size;
  };
  std::vector<Usable> usable;
  for (const auto& piece : now.pieces()) {
    const unsigned access = device < 0 ? 0 : piece.mapping->access[device];
    const auto* behind = now.memory(piece.mapping->memory);
    if (behind && behind->team) {
      // Both sides of a copy take the distance.
      const bool writes = op.code == Code::kFill || op.code == Code::kWrite;
      if (!writes || !now.all_bound(*behind) || !random_.chance(90)) continue;
    }
    if (access == 3 || (access == 1 && op.code == Code::kRead)) {
      usable.push_back({piece.range, piece.mapping->at, piece.mapping->size});
    }
  }
  if (device >= 0) {
    for (const auto& plain : now.plains) {
      // Memory that both processes have is used more often, because a mistake would show there.
      const bool shared = plain.made == Code::kIpcOpen || now.open_elsewhere(plain);
      usable.push_back({plain.name, 0, plain.size});
      if (shared) usable.insert(usable.end(), 3, {plain.name, 0, 1});
    }
  }
  if (usable.empty()) return false;
  const auto place = [&](std::uint8_t& ref, std::uint8_t& at, std::uint8_t& odd) {
    const auto& piece = pick(usable, random_);
    ref = piece.name;
    at = byte(piece.at + random_.below(piece.size));
    // Sometimes the access crosses the end of a granule, if the next granule belongs to the same
    // mapping.
    const bool inside = at + 1u < piece.at + piece.size;
    odd = byte(random_.chance(30) ? (inside ? 6 : 1) : random_.chance(30) ? 3 : 0);
  };
  place(op.ref, op.at, op.odd);
  if (second) place(op.ref2, op.at2, op.odd2);
  op.size = byte(1 + random_.below(48));
  op.value = byte(1 + random_.below(254));
  op.extra = byte(random_.below(3));
  return true;
}

bool Maker::fill(Op& op, const Sketch& now) {
  if (is_capture(op.code)) return capture(op, now);
  if (is_further(op.code)) return further(op, now);
  if (is_endpoint(op.code)) return endpoint(op, now);
  if (is_multicast(op.code)) return multicast(op, now);
  if (op.code >= Code::kAlloc) return legacy(op, now);
  if (op.code >= Code::kPoolCreate) return pooled(op, now);
  if (op.code >= Code::kExtImport) return external(op, now);
  switch (op.code) {
    case Code::kFill:
    case Code::kRead:
    case Code::kWrite:
      return data(op, now, false);
    case Code::kCopy:
      return data(op, now, true);
    case Code::kMemFree:
      return free_plain(op, now);
    default:
      return virtual_memory(op, now);
  }
}

bool Maker::free_plain(Op& op, const Sketch& now) {
  // Memory that is open here must be closed, and memory that is open elsewhere must not be freed
  // yet: both would be faults.
  if (random_.chance(90) && any(now.plains, op.ref, [&](const Sketch::Plain& p) {
        const bool early = p.made == Code::kIpcOpen || now.open_elsewhere(p);
        return !early || random_.chance(5 + style_.faults);
      })) {
    return true;
  }
  // An address of a reservation is a fault here.
  if (now.ranges.empty() || !random_.chance(style_.faults)) return false;
  op.ref = pick(now.ranges, random_).name;
  return true;
}

void Maker::spoil(Op& op, const Sketch& now) {
  const unsigned times = random_.chance(20) ? 2 : 1;
  for (unsigned i = 0; i < times; ++i) {
    switch (random_.below(11)) {
      case 0:
        op.odd = byte(random_.below(kOdds));
        break;
      case 1:
        op.odd_size = byte(random_.below(kOdds));
        break;
      case 2:
        op.at = byte(op.at + 1 + random_.below(3));
        break;
      case 3:
        op.size = byte(random_.chance(50) ? op.size + 1 : op.size ? op.size - 1 : 0);
        break;
      case 4:
        op.flags = byte(1 + random_.below(2));
        break;
      case 5:
        op.place = byte(random_.below(std::uint32_t{std::size(kPlaces)}));
        break;
      case 6:
        op.value = byte(random_.below(random_.chance(70) ? 17 : 256));
        break;
      case 7:
        op.extra = byte(random_.below(16));
        break;
      case 8:
        op.faults = byte(1u << random_.below(3));
        break;
      case 9:
        (random_.chance(50) ? op.ref : op.ref2) = 0;
        break;
      default:  // some other object, perhaps one that is dead, or another process's
        if (style_.processes > 1 && random_.chance(30)) {
          const Shape& s = shape(op.code);
          if (s.ref == NameKind::kRange && !now.foreign_ranges.empty()) {
            op.ref = pick(now.foreign_ranges, random_).name;
          }
          if (s.ref == NameKind::kRange && !now.foreign_plains.empty() && random_.chance(50)) {
            op.ref = pick(now.foreign_plains, random_).name;
          }
          if (!now.foreign_memories.empty()) {
            const std::uint8_t name = pick(now.foreign_memories, random_).name;
            if (s.ref == NameKind::kMemory) op.ref = name;
            if (s.ref2 == NameKind::kMemory) op.ref2 = name;
          }
        } else if (!now.dead.empty()) {
          const auto& dead = pick(now.dead, random_);
          if (shape(op.code).ref == dead.kind) op.ref = dead.name;
          if (shape(op.code).ref2 == dead.kind) op.ref2 = dead.name;
        }
        break;
    }
  }
}

}  // namespace cuvmm::fuzz
