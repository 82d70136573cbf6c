// SPDX-License-Identifier: Apache-2.0
// Makes the calls of the areas beside virtual memory management.
#include "fuzz/generate/maker.h"

#include <algorithm>

namespace cuvmm::fuzz {

bool Maker::external(Op& op, const Sketch& now) {
  switch (op.code) {
    case Code::kExtImport: {
      if (now.descriptors.empty()) return false;
      const auto& from = pick(now.descriptors, random_);
      if (from.pool) return false;
      op.ref = from.name;
      op.value = 1;
      op.size = byte(from.size + (random_.chance(5) ? 1 : 0));
      op.flags = random_.chance(25) ? 1 : 0;  // dedicated
      op.name = now.free_name(NameKind::kExternal, random_.below(256));
      return true;
    }
    case Code::kExtBuffer: {
      if (now.externals.empty()) return false;
      const auto& from = pick(now.externals, random_);
      op.ref = from.name;
      op.name = now.free_name(NameKind::kRange, random_.below(256));
      // A buffer elsewhere than at the start of dedicated memory is a fault.
      const bool at_start = from.dedicated && !random_.chance(5 + style_.faults);
      op.at = byte(at_start || random_.chance(60) ? 0 : random_.below(from.size));
      if (from.dedicated && !at_start && from.size > 1) {
        op.at = byte(1 + random_.below(from.size - 1));
      }
      op.size = byte(from.size - op.at + (from.beyond && random_.chance(30) ? 1 : 0));
      if (!at_start && random_.chance(20) && op.size > 1) {  // any place and size will do
        --op.size;
        op.odd = byte(random_.below(7));
        op.odd_size = byte(random_.below(2));
        if (op.odd_size) --op.size;
      }
      return true;
    }
    case Code::kExtDestroy:
      if (now.externals.empty()) return false;
      op.ref = pick(now.externals, random_).name;
      return true;
    default:
      return false;
  }
}

bool Maker::multicast(Op& op, const Sketch& now) {
  switch (op.code) {
    case Code::kMcCreate:
      op.name = now.free_name(NameKind::kMemory, random_.below(256));
      op.extra = byte(1 + random_.below(static_cast<std::uint32_t>(style_.devices)));
      op.size = byte(1 + random_.below(style_.pieces + 1));
      if (random_.chance(15)) op.value = kPosix;
      return true;
    case Code::kMcGranularity:
      op.extra = byte(1 + random_.below(static_cast<std::uint32_t>(style_.devices)));
      op.size = byte(1 + random_.below(4));
      if (random_.chance(40)) op.value = 16;
      return true;
    case Code::kMcAddDevice:
      if (!team(op.ref, now, false)) return false;
      op.place = device();
      return !now.memory(op.ref)->member(op.place) || random_.chance(5);
    case Code::kMcBindMem:
    case Code::kMcBindAddr:
      return team(op.ref, now, true) && bind(op, now);
    case Code::kMcUnbind: {
      if (!team(op.ref, now, true) || now.memory(op.ref)->bound.empty()) return false;
      const auto& bound = pick(now.memory(op.ref)->bound, random_);
      op.place = bound.device;
      op.at = byte(bound.at);
      op.size = byte(bound.size);
      return true;
    }
    default:
      return false;
  }
}

bool Maker::team(std::uint8_t& ref, const Sketch& now, bool complete) {
  std::vector<std::uint8_t> names;
  for (const auto& memory : now.memories) {
    const bool fits = memory.team && memory.references > 0 && memory.missing() != complete;
    if (fits || (memory.team && random_.chance(3))) names.push_back(memory.name);
  }
  if (names.empty()) return false;
  ref = pick(names, random_);
  return true;
}

bool Maker::bind(Op& op, const Sketch& now) {
  const Sketch::Memory& object = *now.memory(op.ref);
  if (op.code == Code::kMcBindAddr) {
    const auto mappings = now.pieces();
    if (mappings.empty()) return false;
    const auto& piece = pick(mappings, random_);
    const auto* memory = now.memory(piece.mapping->memory);
    if (!memory || memory->team || !object.member(memory->device)) return false;
    op.ref2 = piece.range;
    op.at2 = byte(piece.mapping->at);
    op.size = byte(piece.mapping->size);
  } else {
    if (!reference(op.ref2, now)) return false;
    const auto* memory = now.memory(op.ref2);
    if (memory->team || !object.member(memory->device)) return false;
    op.size = byte(memory->size);
  }
  if (op.size > 1 && random_.chance(20)) {
    --op.size;
    op.at2 = byte(op.at2 + random_.below(2));
  }
  if (op.size > object.size) op.size = byte(object.size);
  op.at = byte(random_.below(object.size - op.size + 1));
  return true;
}

// The next step that passes a pool's memory to another process.
Code Maker::share_pool(const Sketch& now) {
  const auto any = [](const auto& list, auto fits) {
    return std::any_of(list.begin(), list.end(), fits);
  };
  const auto shared = [](const Sketch::Pool& p) { return p.shareable && !p.source; };
  if (!any(now.pools, shared)) return Code::kPoolCreate;
  const bool allocated = any(now.plains, [&](const Sketch::Plain& memory) {
    return memory.made == Code::kPoolAlloc && any(now.pools, [&](const Sketch::Pool& p) {
             return shared(p) && p.name == memory.owner;
           });
  });
  if (!allocated) return Code::kPoolAlloc;
  if (!any(now.pools, [&](const auto& p) { return shared(p) && p.exported; })) {
    return Code::kPoolExport;
  }
  if (!any(now.pools, [](const auto& p) { return p.source != 0; })) return Code::kPoolImport;
  const bool has_token = any(now.tokens, [](const auto& token) { return token.pool != 0; });
  return has_token ? Code::kPointerImport : Code::kPointerExport;
}

bool Maker::pooled(Op& op, const Sketch& now) {
  const Shape& s = shape(op.code);
  if (s.makes != NameKind::kNone) op.name = now.free_name(s.makes, random_.below(256));
  const auto pool = [&](auto fits) { return any(now.pools, op.ref, fits); };
  const auto plain = [&](auto fits) { return any(now.plains, op.ref, fits); };
  using Pool = Sketch::Pool;
  using Plain = Sketch::Plain;
  const auto live = [](const auto&) { return true; };
  const auto own = [](const Pool& p) { return !p.source; };
  const bool context = now.device[op.actor] >= 0;
  op.size = byte(1 + random_.below(style_.pieces));
  switch (op.code) {
    case Code::kPoolCreate:
      op.place = random_.chance(5) ? kNumaPlace : device();
      if (random_.chance(60)) op.value = kPosix;
      return true;
    case Code::kPoolDefault:
      op.place = device();
      return true;
    case Code::kPoolDestroy:
      // Destroying a default pool is a fault.
      return pool([&](const Pool& p) { return !p.is_default || random_.chance(style_.faults); });
    case Code::kPoolAlloc:
      if (random_.chance(10)) op.size = 0, op.odd_size = byte(1 + random_.below(4));
      return context && pool(own);
    case Code::kFreeAsync:
      return context && plain([](const Plain& p) {
               return p.made != Code::kExtBuffer && p.made != Code::kIpcOpen;
             });
    case Code::kPoolSetAccess:
      op.place = device();
      op.value = random_.chance(70) ? 3 : random_.chance(50) ? 1 : 0;
      return pool(live);
    case Code::kPoolSet: {
      if (!pool(own)) return false;
      for (const Pool& p : now.pools) {
        if (p.name == op.ref) op.place = p.device;
      }
      return op.place < kHostPlace;
    }
    case Code::kPoolExport:
      op.value = kPosix;
      return pool([](const Pool& p) { return p.shareable && !p.source; });
    case Code::kPoolImport:
      op.value = kPosix;
      return any(now.descriptors, op.ref, [](const auto& d) { return d.pool != 0; });
    case Code::kPointerExport:
      return plain([&](const Plain& p) {
        return p.made == Code::kPoolAlloc &&
               std::any_of(now.pools.begin(), now.pools.end(),
                           [&](const Pool& o) { return o.name == p.owner && o.exported; });
      });
    case Code::kPointerImport: {
      if (!context) return false;
      const auto paired = [&](const Sketch::Token& t) {
        return t.pool && std::any_of(now.pools.begin(), now.pools.end(),
                                     [&](const Pool& p) { return p.source == t.pool; });
      };
      if (!any(now.tokens, op.ref2, paired)) return false;
      for (const Sketch::Token& t : now.tokens) {
        if (t.name == op.ref2) return pool([&](const Pool& p) { return p.source == t.pool; });
      }
      return false;
    }
    default:
      return false;
  }
}

// The next step that passes plain memory from one process to the other.
Code Maker::hand_over_plain(const Sketch& now) {
  const auto any = [](const auto& list, auto fits) {
    return std::any_of(list.begin(), list.end(), fits);
  };
  using Plain = Sketch::Plain;
  using Token = Sketch::Token;
  const bool opened = any(now.plains, [](const Plain& p) { return p.made == Code::kIpcOpen; });
  const bool arrived = any(now.tokens, [&](const Token& t) { return now.arrived(t); });
  const bool allocated = any(now.plains, [](const Plain& p) { return p.made == Code::kAlloc; });
  const bool named =
      any(now.tokens, [&](const Token& t) { return t.process == now.process && !t.pool; });
  if (arrived && (!opened || random_.chance(10))) return Code::kIpcOpen;
  if (allocated && (!named || random_.chance(10))) return Code::kIpcGet;
  if (!allocated && (!opened || random_.chance(20))) return Code::kAlloc;
  if ((opened || random_.chance(style_.faults)) && random_.chance(15)) return Code::kIpcClose;
  if (random_.chance(5)) return Code::kMemFree;
  return touch();
}

bool Maker::legacy(Op& op, const Sketch& now) {
  using Plain = Sketch::Plain;
  using Token = Sketch::Token;
  const Shape& s = shape(op.code);
  if (s.makes != NameKind::kNone) op.name = now.free_name(s.makes, random_.below(256));
  const bool context = now.device[op.actor] >= 0;
  const bool fault = random_.chance(style_.faults);
  const auto made_by = [](Code code) { return [code](const Plain& p) { return p.made == code; }; };
  switch (op.code) {
    case Code::kAlloc:
      op.size = byte(1 + random_.below(style_.pieces));
      return context;
    case Code::kIpcGet:
      if (fault && any(now.plains, op.ref, made_by(Code::kIpcOpen))) return true;
      return context && any(now.plains, op.ref, made_by(Code::kAlloc));
    case Code::kIpcOpen: {
      op.flags = 1;
      const bool legal = context && !fault;
      if (legal && any(now.tokens, op.ref, [&](const Token& t) { return now.arrived(t); })) {
        return true;
      }
      // Opening freed memory, or memory of this process, is never legal.
      return (fault || random_.chance(20)) &&
             any(now.tokens, op.ref, [](const Token& t) { return t.pool == 0; });
    }
    case Code::kIpcClose:
      if (!fault && any(now.plains, op.ref, made_by(Code::kIpcOpen))) return context;
      if (style_.faults == 0) return false;
      // Closes memory once too often, or memory that was never opened.
      if (random_.chance(60) &&
          any(now.dead, op.ref, [](const Sketch::Dead& dead) { return dead.opened; })) {
        return true;
      }
      return any(now.plains, op.ref, [](const Plain&) { return true; });
    default:
      return false;
  }
}

}  // namespace cuvmm::fuzz
