// SPDX-License-Identifier: Apache-2.0
// The reference's state of logical endpoints.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace cuvmm::fuzz {

struct EndpointState {
  struct Binding {
    int device;
    std::uint64_t offset, size;
    int memory;  ///< the reference's index of the memory
    int handle;  ///< index of the handle that was bound, or
    int plain;   ///< index of the entry in the list of plain memory; -1 for the other
    std::uint64_t memory_offset;
    int by;  ///< the name through which it was bound
    bool live = true;
    bool covers(std::uint64_t at) const { return at >= offset && at - offset < size; }
    bool meets(std::uint64_t at, std::uint64_t bytes) const {
      return bytes != 0 && size != 0 && (offset < at ? at - offset < size : offset - at < bytes);
    }
  };
  /// An endpoint, which several ids may name.
  struct Object {
    bool team;
    int owner;         ///< owner of a unicast endpoint
    unsigned devices;  ///< devices for which a team is made
    std::uint64_t size;
    unsigned types;
    std::vector<int> added;  ///< devices; for a unicast endpoint its owner
    std::vector<Binding> bindings = {};
    /// A call through one of several names has an unknown effect on the other names, so the bound
    /// memory is unknown.
    bool vague = false;
    bool member(int device) const {
      return std::find(added.begin(), added.end(), device) != added.end();
    }
    bool complete() const { return added.size() >= devices; }
  };
  struct Name {
    std::uint32_t id;
    int object;
    bool imported;
    bool ready = false;  ///< cuLogicalEndpointQuery answered that it is ready
    bool live = true;
  };
  /// The bytes of an export.
  struct Ticket {
    std::array<unsigned char, 64> bytes;
    int name;
  };
  std::vector<std::uint32_t> ids;  ///< reserved ids
  std::vector<Object> objects;
  std::vector<Name> names;
  std::vector<Ticket> tickets;

  void clear() { *this = {}; }
  bool reserved(std::uint32_t id) const {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  }
  /// The endpoint with this id; null for none.
  const Name* find(std::uint32_t id) const {
    for (const Name& name : names) {
      if (name.live && name.id == id) return &name;
    }
    return nullptr;
  }
  int index(const Name& name) const { return static_cast<int>(&name - names.data()); }
  /// The number of ids of the object.
  long names_of(int object) const {
    return std::count_if(names.begin(), names.end(),
                         [&](const Name& name) { return name.live && name.object == object; });
  }
  /// Whether a shim cannot know the calls of other processes: the endpoint was imported, or others
  /// may have imported it.
  bool unseen(const Name& name) const {
    return name.imported || std::any_of(tickets.begin(), tickets.end(), [&](const Ticket& ticket) {
             return names[static_cast<std::size_t>(ticket.name)].object == name.object;
           });
  }
  bool ready_by_any(int object) const {
    return std::any_of(names.begin(), names.end(), [&](const Name& name) {
      return name.live && name.object == object && name.ready;
    });
  }
  const Ticket* ticket(const void* bytes) const {
    for (const Ticket& t : tickets) {
      if (std::memcmp(t.bytes.data(), bytes, t.bytes.size()) == 0) return &t;
    }
    return nullptr;
  }
};

}  // namespace cuvmm::fuzz
