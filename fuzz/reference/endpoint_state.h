// SPDX-License-Identifier: Apache-2.0
// What the reference knows of logical endpoints.
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
    int handle;  ///< of its handle, or
    int plain;   ///< of its entry in the list of plain memory; -1 for the other one
    std::uint64_t memory_offset;
    int by;  ///< the name that it was bound through
    bool live = true;
    bool covers(std::uint64_t at) const { return at >= offset && at - offset < size; }
    bool meets(std::uint64_t at, std::uint64_t bytes) const {
      return bytes != 0 && size != 0 && (offset < at ? at - offset < size : offset - at < bytes);
    }
  };
  /// An endpoint, which several ids may name.
  struct Object {
    bool team;
    int owner;         ///< of a unicast one
    unsigned devices;  ///< that a team will have
    std::uint64_t size;
    unsigned types;
    std::vector<int> added;  ///< the owner of a unicast one
    std::vector<Binding> bindings = {};
    /// Something was done through one of several names of which nobody says what it means for the
    /// others: what is bound is unknown.
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
    bool ready = false;  ///< cuLogicalEndpointQuery said so
    bool live = true;
  };
  /// What an export wrote.
  struct Ticket {
    std::array<unsigned char, 64> bytes;
    int name;
  };
  std::vector<std::uint32_t> ids;  ///< that are reserved
  std::vector<Object> objects;
  std::vector<Name> names;
  std::vector<Ticket> tickets;

  void clear() { *this = {}; }
  bool reserved(std::uint32_t id) const {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  }
  /// The endpoint that has the id; null for none.
  const Name* find(std::uint32_t id) const {
    for (const Name& name : names) {
      if (name.live && name.id == id) return &name;
    }
    return nullptr;
  }
  int index(const Name& name) const { return static_cast<int>(&name - names.data()); }
  /// How many ids name the object.
  long names_of(int object) const {
    return std::count_if(names.begin(), names.end(),
                         [&](const Name& name) { return name.live && name.object == object; });
  }
  /// A shim cannot know what others did: it was imported, or they may have.
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
