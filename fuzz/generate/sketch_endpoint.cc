// SPDX-License-Identifier: Apache-2.0
// The generator's view of logical endpoints.
#include <algorithm>

#include "fuzz/generate/sketch.h"

namespace cuvmm::fuzz {

bool Sketch::Endpoint::member(std::uint8_t place) const {
  return std::find(added.begin(), added.end(), place) != added.end();
}

bool Sketch::Endpoint::bound_at(unsigned at) const {
  return std::all_of(added.begin(), added.end(), [&](std::uint8_t device) {
    return std::any_of(bound.begin(), bound.end(), [&](const Memory::Bound& b) {
      return b.device == device && at >= b.at && at < b.at + b.size;
    });
  });
}

const Sketch::Endpoint* Sketch::endpoint(std::uint8_t name, unsigned index) const {
  for (const Endpoint& e : endpoints) {
    if (e.name == name && e.index == index) return &e;
  }
  return nullptr;
}

void Sketch::follow_endpoint_bind(const Op& op, Endpoint& endpoint) {
  std::uint8_t name = op.ref2;
  if (op.code == Code::kEpBindAddr) {
    name = 0;
    for (const Range& range : ranges) {
      if (range.name != op.ref2) continue;
      for (const Mapping& m : range.mappings) {
        if (op.at2 >= m.at && op.at2 + op.size <= m.at + m.size) name = m.memory;
      }
    }
  }
  const Memory* memory = this->memory(name);
  if (!memory || memory->team || !endpoint.ready || !endpoint.member(op.place)) return;
  if (op.size == 0 || op.at + op.size > endpoint.size) return;
  endpoint.bound.push_back({op.place, op.at, op.size, name});
}

void Sketch::follow_endpoint_import(const Op& op) {
  for (const Ticket& t : tickets) {
    const Endpoint* source = t.name == op.ref2 ? endpoint(t.ids, t.index) : nullptr;
    if (!source) continue;
    Endpoint made = *source;
    made.name = op.ref;
    made.index = op.extra;
    made.ready = false;
    made.imported = true;
    endpoints.push_back(std::move(made));
    return;
  }
}

void Sketch::follow_endpoint_query(const Op& op) {
  bool ready = true;
  for (unsigned i = 0; i < op.size; ++i) {
    const Endpoint* e = endpoint(op.ref, op.extra + i);
    ready = ready && e && !e->missing();
  }
  for (Endpoint& e : endpoints) {
    const bool asked =
        e.name == op.ref && e.index >= op.extra && e.index < unsigned{op.extra} + op.size;
    if (ready && asked) e.ready = true;
  }
}

void Sketch::follow_endpoint(const Op& op) {
  if (op.faults || op.odd_size) return;
  const auto found = std::find_if(endpoints.begin(), endpoints.end(), [&](const Endpoint& e) {
    return e.name == op.ref && e.index == op.extra;
  });
  const bool known = found != endpoints.end();
  switch (op.code) {
    case Code::kEpReserve:
      std::erase_if(ids, [&](const Ids& i) { return i.name == op.name; });
      std::erase_if(endpoints, [&](const Endpoint& e) { return e.name == op.name; });
      if (op.size) ids.push_back({op.name, op.size});
      break;
    case Code::kEpRelease:
      std::erase_if(ids, [&](const Ids& i) { return i.name == op.ref && op.extra == 0; });
      break;
    case Code::kEpCreate: {
      const unsigned type = endpoint_type(op.value);
      const bool team = type == kTeamed;
      if (known || !op.size || (type != kUnicast && !team)) break;
      Endpoint made{op.ref,
                    op.extra,
                    team,
                    op.size,
                    team ? endpoint_devices(op.value) : 1,
                    endpoint_handle_types(op.value) == 1};
      if (!team) made.added.push_back(op.place);
      endpoints.push_back(std::move(made));
      break;
    }
    case Code::kEpAddDevice:
      if (known && found->team && found->missing() && !found->member(op.place)) {
        found->added.push_back(op.place);
      }
      break;
    case Code::kEpDestroy:
      if (known) endpoints.erase(found);
      break;
    case Code::kEpBindMem:
    case Code::kEpBindAddr:
      if (known && !op.flags && !op.odd && !op.odd2) follow_endpoint_bind(op, *found);
      break;
    case Code::kEpUnbind:
      if (!known || op.odd) break;
      std::erase_if(found->bound, [&](const Memory::Bound& b) {
        return b.device == op.place && b.at >= op.at && b.at + b.size <= unsigned{op.at} + op.size;
      });
      break;
    case Code::kEpExport:
      if (!known || !found->shareable || op.value != 1) break;
      std::erase_if(tickets, [&](const Ticket& t) { return t.name == op.name; });
      tickets.push_back({op.name, op.ref, op.extra});
      break;
    case Code::kEpImport:
      if (!known && !op.flags) follow_endpoint_import(op);
      break;
    case Code::kEpQuery:
      follow_endpoint_query(op);
      break;
    default:
      break;
  }
}

}  // namespace cuvmm::fuzz
