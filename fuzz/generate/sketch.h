// SPDX-License-Identifier: Apache-2.0
// The generator's rough idea of what a program has made so far, supposing that every legal call
// succeeds.
#pragma once

#include <cstdint>
#include <vector>

#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

struct Sketch {
  /// Sizes and places in granules.
  struct Mapping {
    unsigned at, size;
    std::uint8_t memory;
    std::uint8_t access[9] = {};  ///< by device, then the host
  };
  struct Range {
    std::uint8_t name;
    unsigned size;
    std::vector<Mapping> mappings;
    bool vacant(unsigned at, unsigned count) const;
  };
  struct Memory {
    std::uint8_t name;
    unsigned size;
    int references;
    bool exportable;
    bool on_host;
    std::uint8_t device = 0;
    /// Of a multicast object: for how many devices, which were added, what was bound.
    struct Bound {
      std::uint8_t device;
      unsigned at, size;
      std::uint8_t memory;
    };
    unsigned team = 0;
    std::vector<std::uint8_t> added = {};
    std::vector<Bound> bound = {};
    bool missing() const { return added.size() < team; }
    bool member(std::uint8_t place) const;
    bool imported = false;
  };
  struct Descriptor {
    std::uint8_t name;
    unsigned size;  ///< of the memory behind it
    bool on_host;
    std::uint8_t device;
    int process;            ///< that made it
    std::uint8_t pool = 0;  ///< it is no memory but this pool
  };
  struct External {
    std::uint8_t name;
    unsigned size;
    bool beyond;  ///< imported with more than there is
    bool dedicated;
  };
  /// Memory with an address and no reservation.
  struct Plain {
    std::uint8_t name;  ///< among those of ranges
    unsigned size;
    Code made = Code::kExtBuffer;
    std::uint8_t owner = 0;  ///< pool; the other process's name of memory that is open here
  };
  struct Pool {
    std::uint8_t name;
    std::uint8_t device;
    bool shareable;
    bool exported = false;
    std::uint8_t source = 0;  ///< of an imported one
    bool is_default = false;
  };
  /// An exported pointer, or a handle of plain memory.
  struct Token {
    std::uint8_t name;
    std::uint8_t range;
    std::uint8_t pool;  ///< 0: legacy IPC
    unsigned size;
    int process;  ///< that made it
  };
  /// What cuLogicalEndpointIdReserve gave.
  struct Ids {
    std::uint8_t name;
    unsigned count;
  };
  struct Endpoint {
    std::uint8_t name, index;  ///< of its id: that of the ids, and how many further
    bool team;
    unsigned size, devices;
    bool shareable;
    std::vector<std::uint8_t> added = {};  ///< the owner of a unicast one
    std::vector<Memory::Bound> bound = {};
    bool ready = false;
    bool imported = false;
    bool missing() const { return added.size() < devices; }
    bool member(std::uint8_t place) const;
    /// Whether each device that it has is bound at a granule.
    bool bound_at(unsigned at) const;
  };
  /// The bytes of an exported endpoint.
  struct Ticket {
    std::uint8_t name;
    std::uint8_t ids, index;
  };
  struct Dead {
    NameKind kind;
    std::uint8_t name;
    bool opened = false;  ///< it was closed as often as it had been opened
  };
  struct Piece {
    std::uint8_t range;
    const Mapping* mapping;
    bool on_host;
  };

  // Of the process that the next call belongs to.
  std::vector<Range> ranges;
  std::vector<Memory> memories;
  std::vector<Plain> plains;
  // Of the other one: nothing of it is valid here.
  std::vector<Range> foreign_ranges;
  std::vector<Memory> foreign_memories;
  std::vector<Plain> foreign_plains;
  int process = 0;
  // Of both.
  std::vector<Descriptor> descriptors;
  std::vector<External> externals;
  std::vector<Pool> pools;
  std::vector<Token> tokens;
  std::vector<Ids> ids;
  std::vector<Endpoint> endpoints;
  std::vector<Ticket> tickets;
  std::vector<Dead> dead;
  int device[kActors] = {0, -1, -1, 0};
  bool used[kNameKinds][256] = {};

  /// What follows is about this process.
  void turn_to(int which);
  /// All mappings with the names of their ranges; valid until the next follow().
  std::vector<Piece> pieces() const;
  const Memory* memory(std::uint8_t name) const;
  /// A name of legacy IPC that the other process gave, and whose memory it has not freed.
  bool arrived(const Token& token) const;
  /// The other process has this memory open.
  bool open_elsewhere(const Plain& plain) const;
  /// Whether each byte of a multicast object is bound for each device.
  bool all_bound(const Memory& object) const;
  const Endpoint* endpoint(std::uint8_t name, unsigned index) const;
  /// A name that nothing has had; any when all are taken.
  std::uint8_t free_name(NameKind kind, std::uint32_t otherwise) const;
  /// Names that later ops bind are taken too.
  void avoid(const Ops& ops);
  void follow(const Op& op);

 private:
  /// The same for the calls of other areas; false for a call of VMM.
  bool follow_area(const Op& op);
  // The calls of VMM, by what they change.
  void follow_range(const Op& op);
  void follow_memory(const Op& op);
  void follow_descriptor(const Op& op);
  void follow_multicast(const Op& op);
  void follow_pool(const Op& op);
  void follow_endpoint(const Op& op);
  void follow_endpoint_bind(const Op& op, Endpoint& endpoint);
  void follow_endpoint_import(const Op& op);
  void follow_endpoint_query(const Op& op);
  void add_plain(const Plain& plain);
};

}  // namespace cuvmm::fuzz
