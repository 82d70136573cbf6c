// SPDX-License-Identifier: Apache-2.0
// Makes the calls of logical endpoints, and fabric copies.
#include <algorithm>

#include "fuzz/generate/maker.h"

namespace cuvmm::fuzz {

namespace {

using Endpoint = Sketch::Endpoint;

template <class List, class Fits>
bool some(const List& list, Fits fits) {
  return std::any_of(list.begin(), list.end(), fits);
}

}  // namespace

// Chooses a call that makes a missing object for a copy first; otherwise all calls.
Code Maker::next_of_endpoint(const Sketch& now) {
  const auto& all = now.endpoints;
  if (now.ids.empty() && random_.chance(90)) return Code::kEpReserve;
  if (all.empty() && random_.chance(90)) return Code::kEpCreate;
  const bool missing = some(all, [](const Endpoint& e) { return e.missing(); });
  if (missing && random_.chance(60)) return Code::kEpAddDevice;
  const bool unasked = some(all, [](const Endpoint& e) { return !e.missing() && !e.ready; });
  if (unasked && random_.chance(60)) return Code::kEpQuery;
  const bool bare = some(all, [](const Endpoint& e) { return e.ready && !e.bound_at(0); });
  if (bare && random_.chance(60)) {
    const bool fits = some(now.memories, [&](const Sketch::Memory& m) {
      return m.references > 0 &&
             some(all, [&](const Endpoint& e) { return e.ready && e.member(m.device); });
    });
    if (!fits) return Code::kCreate;
    return random_.chance(75) ? Code::kEpBindMem : Code::kEpBindAddr;
  }
  const bool bound = some(all, [](const Endpoint& e) { return e.ready && !e.bound.empty(); });
  if (bound && random_.chance(50)) {
    const int device = now.device[actor_of(0, 0)];
    const auto mappings = now.pieces();
    const bool usable = some(mappings, [&](const Sketch::Piece& piece) {
      return device >= 0 && piece.mapping->access[device] == 3;
    });
    if (!mappings.empty() && !usable) return Code::kSetAccess;
    return mappings.empty() ? Code::kMap : Code::kFabricCopy;
  }
  if (!now.tickets.empty() && random_.chance(20)) return Code::kEpImport;
  const auto low = static_cast<std::uint32_t>(Code::kEpReserve);
  const auto high = static_cast<std::uint32_t>(Code::kFabricCopy);
  return static_cast<Code>(low + random_.below(high - low + 1));
}

bool Maker::free_id(Op& op, const Sketch& now) {
  struct Id {
    std::uint8_t name, index;
  };
  std::vector<Id> free;
  for (const Sketch::Ids& ids : now.ids) {
    for (unsigned i = 0; i < std::min<unsigned>(ids.count, kEndpointIds); ++i) {
      if (!now.endpoint(ids.name, i)) free.push_back({ids.name, byte(i)});
    }
  }
  if (free.empty()) return false;
  const Id id = pick(free, random_);
  op.ref = id.name;
  op.extra = id.index;
  return true;
}

template <class Fits>
const Endpoint* Maker::endpoint_that(Op& op, const Sketch& now, Fits fits) {
  std::vector<const Endpoint*> found;
  for (const Endpoint& e : now.endpoints) {
    if (fits(e)) found.push_back(&e);
  }
  if (found.empty()) return nullptr;
  const Endpoint* one = pick(found, random_);
  op.ref = one->name;
  op.extra = one->index;
  return one;
}

bool Maker::endpoint(Op& op, const Sketch& now) {
  const auto any = [](const Endpoint&) { return true; };
  switch (op.code) {
    case Code::kEpReserve:
      op.name = now.free_name(NameKind::kEndpoint, random_.below(256));
      op.size = byte(1 + random_.below(4));
      return true;
    case Code::kEpRelease: {
      // Releasing ids with an endpoint among them is a fault.
      const auto unused = [&](const Sketch::Ids& ids) {
        return !some(now.endpoints, [&](const Endpoint& e) { return e.name == ids.name; }) ||
               random_.chance(style_.faults);
      };
      if (!this->any(now.ids, op.ref, unused)) return false;
      for (const Sketch::Ids& ids : now.ids) {
        if (ids.name == op.ref) op.size = byte(ids.count);
      }
      return true;
    }
    case Code::kEpCreate:
      return free_id(op, now) && create_endpoint(op);
    case Code::kEpLimits:
      return create_endpoint(op);
    case Code::kEpAddDevice: {
      const Endpoint* e =
          endpoint_that(op, now, [](const Endpoint& each) { return each.team && each.missing(); });
      op.place = device();
      return e && (!e->member(op.place) || random_.chance(5));
    }
    case Code::kEpDestroy:
      return random_.chance(30) && endpoint_that(op, now, any);
    case Code::kEpBindMem:
    case Code::kEpBindAddr:
      return bind_endpoint(op, now);
    case Code::kEpUnbind:
      return random_.chance(40) && unbind_endpoint(op, now);
    case Code::kEpExport:
      op.name = now.free_name(NameKind::kBlob, random_.below(256));
      op.value = 1;
      return endpoint_that(op, now, [](const Endpoint& e) { return e.shareable && !e.imported; });
    case Code::kEpImport:
      op.value = 1;
      return this->any(now.tickets, op.ref2, [](const auto&) { return true; }) && free_id(op, now);
    case Code::kEpQuery: {
      const Endpoint* e = endpoint_that(op, now, any);
      op.size = 1;
      // Takes the following endpoints too.
      while (e && random_.chance(40) && now.endpoint(op.ref, op.extra + op.size)) ++op.size;
      return e;
    }
    case Code::kFabricCopy:
      return fabric_copy(op, now);
    default:
      return false;
  }
}

bool Maker::create_endpoint(Op& op) {
  const bool team = random_.chance(40);
  const unsigned devices = 1 + random_.below(static_cast<std::uint32_t>(style_.devices));
  op.place = device();
  op.size = byte(1 + random_.below(style_.pieces + 1));
  op.value = endpoint_value(team ? kTeamed : kUnicast, devices, random_.chance(30) ? 1 : 0);
  op.flags = random_.chance(20) ? 1 : 0;  // counted operations
  return true;
}

bool Maker::bind_endpoint(Op& op, const Sketch& now) {
  const bool early = random_.chance(style_.faults / 4);
  const Endpoint* e = endpoint_that(op, now, [&](const Endpoint& each) {
    return early || (each.ready && (each.team || !each.imported));
  });
  if (!e) return false;
  const auto fits = [&](const Sketch::Memory* memory) {
    return memory && !memory->team && !memory->on_host && e->member(memory->device) &&
           (!(e->team && (e->shareable || e->imported)) || memory->exportable || early);
  };
  const Sketch::Memory* memory = nullptr;
  if (op.code == Code::kEpBindAddr) {
    std::vector<Sketch::Piece> pieces = now.pieces();
    std::erase_if(pieces, [&](const auto& p) { return !fits(now.memory(p.mapping->memory)); });
    if (pieces.empty()) return false;
    const auto& piece = pick(pieces, random_);
    memory = now.memory(piece.mapping->memory);
    op.ref2 = piece.range;
    op.at2 = byte(piece.mapping->at);
    op.size = byte(piece.mapping->size);
  } else {
    const auto live = [&](const Sketch::Memory& m) { return m.references > 0 && fits(&m); };
    if (!any(now.memories, op.ref2, live)) return false;
    memory = now.memory(op.ref2);
    op.size = byte(memory->size);
  }
  op.place = memory->device;
  if (op.size > 1 && random_.chance(20)) {
    --op.size;
    op.at2 = byte(op.at2 + random_.below(2));
  }
  if (op.size > e->size) op.size = byte(e->size);
  op.at = byte(random_.chance(50) ? 0 : random_.below(e->size - op.size + 1));
  return !some(e->bound, [&](const Sketch::Memory::Bound& b) {
    return b.device == op.place && op.at < b.at + b.size && b.at < unsigned{op.at} + op.size;
  });
}

bool Maker::unbind_endpoint(Op& op, const Sketch& now) {
  const Endpoint* e =
      endpoint_that(op, now, [](const Endpoint& each) { return !each.bound.empty(); });
  if (!e) return false;
  const auto& bound = pick(e->bound, random_);
  op.place = bound.device;
  op.at = byte(bound.at);
  op.size = byte(bound.size);
  for (const auto& b : e->bound) {  // with the one that follows it
    if (b.device == bound.device && b.at == bound.at + bound.size && random_.chance(50)) {
      op.size = byte(bound.size + b.size);
    }
  }
  return true;
}

// Copies between an endpoint of another device and memory of this device or of the host; sometimes
// between two pointers.
bool Maker::fabric_copy(Op& op, const Sketch& now) {
  const int device = now.device[op.actor];
  if (device < 0) return false;
  struct Local {
    std::uint8_t name;
    unsigned at, size;
    bool writable;
  };
  std::vector<Local> local;
  for (const auto& piece : now.pieces()) {
    const auto* memory = now.memory(piece.mapping->memory);
    const unsigned access = piece.mapping->access[device];
    const bool here = memory && !memory->team && (memory->on_host || memory->device == device);
    if (!here || access == 0) continue;
    local.push_back({piece.range, piece.mapping->at, piece.mapping->size, access == 3});
  }
  if (local.empty()) return false;
  const Local& pointer = pick(local, random_);
  op.ref2 = pointer.name;
  op.at2 = byte(pointer.at + random_.below(pointer.size));
  op.odd2 = byte(random_.chance(30) ? 3 : 0);
  op.size = byte(1 + random_.below(48));
  if (random_.chance(20)) op.odd_size = kTwoCopies;
  if (random_.chance(10) && pointer.writable) {
    op.value = fabric_value(kByPointer, kByPointer);
    op.at = op.at2;
    op.odd = 4;  // 64 KiB behind the source's end
    return true;
  }
  const Endpoint* e = endpoint_that(op, now, [&](const Endpoint& each) {
    const bool mine = !each.team && each.member(byte(static_cast<std::uint32_t>(device)));
    return each.ready && !each.bound.empty() && (!mine || random_.chance(style_.faults));
  });
  if (!e) return false;
  std::vector<unsigned> places;
  for (unsigned at = 0; at < e->size; ++at) {
    if (e->bound_at(at)) places.push_back(at);
  }
  if (places.empty()) return false;
  op.at = byte(pick(places, random_));
  op.odd = byte(random_.chance(30) ? 3 : 0);
  const bool read = !e->team && pointer.writable && random_.chance(50);
  op.value = read ? fabric_value(kByEndpoint, kByPointer) : fabric_value(kByPointer, kByEndpoint);
  return true;
}

}  // namespace cuvmm::fuzz
