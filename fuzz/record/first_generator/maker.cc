// SPDX-License-Identifier: Apache-2.0
#include "fuzz/record/first_generator/generator.h"

#include <algorithm>

#include "fuzz/record/first_generator/sketch.h"

namespace cuvmm::fuzz::first {

namespace {

constexpr std::uint8_t kPosixType = 1;

template <class T>
const T& chosen(const std::vector<T>& from, Random& random) {
  return from[random.below(static_cast<std::uint32_t>(from.size()))];
}

std::uint8_t low(std::uint32_t value) { return static_cast<std::uint8_t>(value); }

/// Makes one op that fits the objects that the program has made so far.
class Maker {
 public:
  Maker(Random& random, const Style& style) : random_(random), style_(style) {}

  Op make(Sketch& now) {
    for (int attempt = 0; attempt < 12; ++attempt) {
      Op op;
      if (style_.processes > 1 && random_.chance(50)) op.actor = actor_of(1, 0);
      now.turn_to(process_of(op));
      op.code = choose(now);
      if (!(style_.enabled >> static_cast<unsigned>(op.code) & 1)) continue;
      if (style_.threads > 1 && process_of(op) == 0) op.actor = low(random_.below(style_.threads));
      if (!fill(op, now)) continue;
      if (random_.chance(style_.faults)) spoil(op, now);
      canonicalise(op);
      return op;
    }
    Op op;
    op.code = Code::kGranularity;
    return op;
  }

 private:
  // Chooses a call that makes a missing object first; otherwise all calls, as often as programs
  // make them.
  Code choose(const Sketch& now) {
    if (now.ranges.empty() && random_.chance(60)) return Code::kReserve;
    if (style_.processes > 1 && random_.chance(40)) return hand_over(now);
    if (now.memories.empty() && random_.chance(60)) return Code::kCreate;
    struct Weight {
      Code code;
      unsigned weight;
    };
    static constexpr Weight kWeights[] = {
        {Code::kReserve, 8},    {Code::kFree, 5},      {Code::kCreate, 10},
        {Code::kRelease, 7},    {Code::kMap, 20},      {Code::kUnmap, 10},
        {Code::kSetAccess, 16}, {Code::kGetAccess, 6}, {Code::kExport, 4},
        {Code::kImport, 4},     {Code::kClose, 3},     {Code::kGranularity, 2},
        {Code::kProperties, 3}, {Code::kRetain, 4},    {Code::kRangeHandle, 3},
        {Code::kFill, 8},       {Code::kRead, 8},      {Code::kWrite, 6},
        {Code::kCopy, 5},       {Code::kContext, 2},   {Code::kMemFree, 1}};
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
  Code hand_over(const Sketch& now) {
    const bool arrived = std::any_of(now.descriptors.begin(), now.descriptors.end(),
                                     [&](const auto& d) { return d.process != now.process; });
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
    constexpr Code kData[] = {Code::kFill, Code::kRead, Code::kRead, Code::kWrite, Code::kCopy};
    return kData[random_.below(std::size(kData))];
  }

  std::uint8_t device() { return low(random_.below(static_cast<std::uint32_t>(style_.devices))); }

  bool data(Op& op, const Sketch& now, bool second) {
    const int device = now.device[op.actor];
    std::vector<Sketch::Piece> usable;
    for (const auto& piece : now.pieces()) {
      const unsigned access = device < 0 ? 0 : piece.mapping->access[device];
      if (access == 3 || (access == 1 && op.code == Code::kRead)) usable.push_back(piece);
    }
    if (usable.empty()) return false;
    const auto place = [&](std::uint8_t& ref, std::uint8_t& at, std::uint8_t& odd) {
      const auto& piece = chosen(usable, random_);
      ref = piece.range;
      at = low(piece.mapping->at + random_.below(piece.mapping->size));
      // Sometimes the access crosses the end of a granule, if the next granule belongs to the same
      // mapping.
      const bool inside = at + 1u < piece.mapping->at + piece.mapping->size;
      odd = low(random_.chance(30) ? (inside ? 6 : 1) : random_.chance(30) ? 3 : 0);
    };
    place(op.ref, op.at, op.odd);
    if (second) place(op.ref2, op.at2, op.odd2);
    op.size = low(1 + random_.below(48));
    op.value = low(1 + random_.below(254));
    op.extra = low(random_.below(3));
    return true;
  }

  bool fill(Op& op, const Sketch& now) {
    switch (op.code) {
      case Code::kRelease:
      case Code::kProperties:
      case Code::kExport:
      case Code::kImport:
      case Code::kClose:
        return handle(op, now);
      case Code::kMap:
        return map(op, now);
      case Code::kUnmap:
      case Code::kSetAccess:
        return change(op, now);
      case Code::kGetAccess:
      case Code::kRetain:
      case Code::kRangeHandle:
        return look(op, now);
      case Code::kFill:
      case Code::kRead:
      case Code::kWrite:
        return data(op, now, false);
      case Code::kCopy:
        return data(op, now, true);
      default:
        return memory(op, now);
    }
  }

  // Makes calls of reservations and allocations, and calls that need neither.
  bool memory(Op& op, const Sketch& now) {
    switch (op.code) {
      case Code::kContext:
        op.place = device();
        return true;
      case Code::kReserve:
        op.name = now.free_name(NameKind::kRange, random_.below(256));
        op.size = low(1 + random_.below(style_.granules));
        if (random_.chance(15)) op.extra = low(random_.below(4));
        return true;
      case Code::kFree: {
        std::vector<const Sketch::Range*> empty;
        for (const auto& range : now.ranges) {
          if (range.mappings.empty()) empty.push_back(&range);
        }
        if (empty.empty()) return false;
        const auto* range = chosen(empty, random_);
        op.ref = range->name;
        op.size = low(range->size);
        return true;
      }
      case Code::kCreate:
        op.name = now.free_name(NameKind::kMemory, random_.below(256));
        op.size = low(1 + random_.below(style_.pieces));
        op.place = random_.chance(8) ? (random_.chance(50) ? kHostPlace : kNumaPlace) : device();
        if (random_.chance(style_.processes > 1 ? 80 : 40) && op.place != kHostPlace) {
          op.value = kPosixType;
        }
        if (random_.chance(10)) op.extra = low(1 + random_.below(2));
        return true;
      case Code::kGranularity:
        op.place = random_.chance(30) ? kHostPlace : device();
        if (random_.chance(40)) op.value = 16;
        return true;
      case Code::kMemFree:
        // Never legal here, so the call is a fault.
        if (now.ranges.empty() || !random_.chance(style_.faults)) return false;
        op.ref = chosen(now.ranges, random_).name;
        return true;
      default:
        return false;
    }
  }

  // Makes calls that use a handle or a descriptor.
  bool handle(Op& op, const Sketch& now) {
    switch (op.code) {
      case Code::kRelease:
      case Code::kProperties:
        if (!reference(op.ref, now)) return false;
        return true;
      case Code::kExport: {
        std::vector<std::uint8_t> names;
        for (const auto& memory : now.memories) {
          if (memory.exportable && memory.references > 0) names.push_back(memory.name);
        }
        if (names.empty()) return false;
        op.ref = chosen(names, random_);
        op.value = kPosixType;
        op.name = now.free_name(NameKind::kDescriptor, random_.below(256));
        return true;
      }
      case Code::kImport:
      case Code::kClose:
        if (now.descriptors.empty()) return false;
        op.ref = chosen(now.descriptors, random_).name;
        if (op.code == Code::kImport && style_.processes > 1 && random_.chance(80)) {
          for (const auto& descriptor : now.descriptors) {
            if (descriptor.process != now.process) op.ref = descriptor.name;
          }
        }
        op.value = kPosixType;
        op.name = now.free_name(NameKind::kMemory, random_.below(256));
        return true;
      default:
        return false;
    }
  }

  bool map(Op& op, const Sketch& now) {
    if (!reference(op.ref2, now) || now.ranges.empty()) return false;
    const unsigned size = now.memory(op.ref2)->size;
    // The first vacant run from a random place.
    const auto& range = chosen(now.ranges, random_);
    op.ref = range.name;
    op.size = low(size);
    const unsigned start = random_.below(range.size);
    for (unsigned i = 0; i < range.size; ++i) {
      const unsigned at = (start + i) % range.size;
      if (at + size > range.size || !range.vacant(at, size)) continue;
      op.at = low(at);
      return true;
    }
    return false;
  }

  bool change(Op& op, const Sketch& now) {
    const auto mappings = now.pieces();
    if (mappings.empty()) return false;
    const auto& piece = chosen(mappings, random_);
    op.ref = piece.range;
    op.at = low(piece.mapping->at);
    unsigned end = piece.mapping->at + piece.mapping->size;
    // Takes several neighbours at once.
    for (const auto& next : mappings) {
      if (next.range == piece.range && next.mapping->at == end && random_.chance(40)) {
        end += next.mapping->size;
      }
    }
    op.size = low(end - piece.mapping->at);
    if (op.code == Code::kUnmap) return true;
    op.place = piece.on_host && random_.chance(40) ? kHostPlace : device();
    op.value = random_.chance(75) ? 3 : random_.chance(60) ? 1 : 0;
    if (style_.devices > 1 && random_.chance(20)) op.extra = low(1 + device());
    return true;
  }

  bool look(Op& op, const Sketch& now) {
    const auto mappings = now.pieces();
    if (mappings.empty()) return false;
    const auto& piece = chosen(mappings, random_);
    op.ref = piece.range;
    op.at = low(piece.mapping->at);
    if (op.code != Code::kRangeHandle) op.at = low(op.at + random_.below(piece.mapping->size));
    op.size = low(piece.mapping->size);
    op.value = 1;
    op.place = random_.chance(15) ? low(kHostPlace + random_.below(2)) : device();
    const NameKind makes = shape(op.code).makes;
    if (makes != NameKind::kNone) op.name = now.free_name(makes, random_.below(256));
    return true;
  }

  bool reference(std::uint8_t& ref, const Sketch& now) {
    std::vector<std::uint8_t> names;
    for (const auto& memory : now.memories) {
      if (memory.references > 0) names.push_back(memory.name);
    }
    if (names.empty()) return false;
    ref = chosen(names, random_);
    return true;
  }

  // Changes one or two fields, as a careless program would.
  void spoil(Op& op, const Sketch& now) {
    const unsigned times = random_.chance(20) ? 2 : 1;
    for (unsigned i = 0; i < times; ++i) {
      switch (random_.below(11)) {
        case 0:
          op.odd = low(random_.below(style_.odds));
          break;
        case 1:
          op.odd_size = low(random_.below(style_.odds));
          break;
        case 2:
          op.at = low(op.at + 1 + random_.below(3));
          break;
        case 3:
          op.size = low(random_.chance(50) ? op.size + 1 : op.size ? op.size - 1 : 0);
          break;
        case 4:
          op.flags = low(1 + random_.below(2));
          break;
        case 5:
          op.place = low(random_.below(static_cast<std::uint32_t>(std::size(kPlaces))));
          break;
        case 6:
          op.value = low(random_.below(random_.chance(70) ? 17 : 256));
          break;
        case 7:
          op.extra = low(random_.below(16));
          break;
        case 8:
          op.faults = low(1u << random_.below(3));
          break;
        case 9:
          (random_.chance(50) ? op.ref : op.ref2) = 0;
          break;
        default:  // some other object, perhaps one that is gone, or another process's
          if (style_.processes > 1 && random_.chance(30)) {
            const Shape& s = shape(op.code);
            if (s.ref == NameKind::kRange && !now.foreign_ranges.empty()) {
              op.ref = chosen(now.foreign_ranges, random_).name;
            }
            if (!now.foreign_memories.empty()) {
              const std::uint8_t name = chosen(now.foreign_memories, random_).name;
              if (s.ref == NameKind::kMemory) op.ref = name;
              if (s.ref2 == NameKind::kMemory) op.ref2 = name;
            }
          } else if (!now.dead.empty()) {
            const auto& gone = chosen(now.dead, random_);
            if (shape(op.code).ref == gone.kind) op.ref = gone.name;
            if (shape(op.code).ref2 == gone.kind) op.ref2 = gone.name;
          }
          break;
      }
    }
  }

  Random& random_;
  const Style& style_;
};

}  // namespace

Style swarm(Random& random, int devices, int processes) {
  Style style;
  style.devices = devices;
  style.odds = processes > 1 ? 13 : 11;
  style.ops = 5 + random.below(50);
  style.granules = random.chance(30) ? 2 + random.below(3) : 4 + random.below(12);
  style.pieces = 1 + random.below(random.chance(70) ? 2 : 5);
  style.faults = random.chance(40) ? 0 : random.chance(70) ? 5 : 25;
  style.threads = random.chance(90) ? 1 : 1 + random.below(kThreads);
  if (random.chance(50)) {
    // All programs keep the calls that other calls need.
    constexpr std::uint32_t kAlways = 1u << static_cast<unsigned>(Code::kReserve) |
                                      1u << static_cast<unsigned>(Code::kCreate) |
                                      1u << static_cast<unsigned>(Code::kMap);
    style.enabled = kAlways | static_cast<std::uint32_t>(random.next() >> 20);
  }
  if (processes > 1 && random.chance(85)) {
    style.processes = processes;
    style.ops += 15;
    style.granules =
        std::min(style.granules, 8u);  // fewer places, so that calls more often share one
    style.enabled |= 1u << static_cast<unsigned>(Code::kExport) |
                     1u << static_cast<unsigned>(Code::kImport) |
                     1u << static_cast<unsigned>(Code::kSetAccess);
  }
  return style;
}

Ops generate(Random& random, const Style& style) {
  Ops ops;
  Sketch now;
  Maker maker(random, style);
  while (ops.size() < std::min<std::size_t>(style.ops, kMostOps)) {
    const Op op = maker.make(now);
    now.follow(op);
    ops.push_back(op);
  }
  return ops;
}

}  // namespace cuvmm::fuzz::first
