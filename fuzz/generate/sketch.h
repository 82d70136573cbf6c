// SPDX-License-Identifier: Apache-2.0
// The objects that a program has made so far, under the assumption that every legal call succeeds.
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
    /// For a multicast object: the number of devices, the devices that were added, the bound
    /// memory.
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
    int process;            ///< the process that made it
    std::uint8_t pool = 0;  ///< not 0: the descriptor stands for this pool
  };
  struct External {
    std::uint8_t name;
    unsigned size;
    bool beyond;  ///< imported with a size beyond the memory's end
    bool dedicated;
  };
  /// Memory with an address and no reservation.
  struct Plain {
    std::uint8_t name;  ///< in the names of ranges
    unsigned size;
    Code made = Code::kExtBuffer;
    std::uint8_t owner =
        0;  ///< pool; or the other process's name of memory that this process opened
  };
  struct Pool {
    std::uint8_t name;
    std::uint8_t device;
    bool shareable;
    bool exported = false;
    std::uint8_t source = 0;  ///< the exported name of an imported pool
    bool is_default = false;
  };
  /// An exported pointer, or a handle of plain memory.
  struct Token {
    std::uint8_t name;
    std::uint8_t range;
    std::uint8_t pool;  ///< 0: legacy IPC
    unsigned size;
    int process;  ///< the process that made it
  };
  /// The ids that cuLogicalEndpointIdReserve gave.
  struct Ids {
    std::uint8_t name;
    unsigned count;
  };
  struct Endpoint {
    std::uint8_t name, index;  ///< of its id: the name of the ids, and the distance from the first
    bool team;
    unsigned size, devices;
    bool shareable;
    std::vector<std::uint8_t> added = {};  ///< devices; for a unicast endpoint its owner
    std::vector<Memory::Bound> bound = {};
    bool ready = false;
    bool imported = false;
    bool missing() const { return added.size() < devices; }
    bool member(std::uint8_t place) const;
    /// Whether memory is bound at this granule for each device of the endpoint.
    bool bound_at(unsigned at) const;
  };
  /// The bytes of an exported endpoint.
  struct Ticket {
    std::uint8_t name;
    std::uint8_t ids, index;
  };
  static constexpr std::uint8_t kNoTiles = 255;
  /// An array, or a level of a mipmapped one.
  struct Array {
    std::uint8_t name;
    unsigned width, rows;
    std::uint8_t device;
    std::uint8_t mipmap = 0;
    std::uint8_t kind = kNoTiles;  ///< of tiled_kind()
    bool shown = false;            ///< each tile of the array shows memory
    bool copies() const { return kind == kNoTiles || shown; }
  };
  struct Mipmap {
    std::uint8_t name;
    unsigned width, rows, levels;
    std::uint8_t device;
    std::uint8_t kind = kNoTiles;
  };
  /// Memory for the tiles of sparse arrays; a name of memory.
  struct TilePool {
    std::uint8_t name, device;
  };
  struct Stream {
    std::uint8_t name, device;
    bool blocking;
    unsigned capture = 0;  ///< the number of its capture; 0: none
    bool origin = false;   ///< the capture began on it
    std::uint8_t mode = 0, thread = 0;
  };
  static constexpr unsigned kOver = ~0u;
  struct Event {
    std::uint8_t name, device;
    unsigned capture = 0;  ///< in which it was recorded; kOver: in one that is over
  };
  /// A graph, or an executable one.
  struct Graph {
    std::uint8_t name, device;
  };
  struct Dead {
    NameKind kind;
    std::uint8_t name;
    bool opened = false;  ///< closed as often as it had been opened
  };
  struct Piece {
    std::uint8_t range;
    const Mapping* mapping;
    bool on_host;
  };

  // Objects of the process that makes the next call.
  std::vector<Range> ranges;
  std::vector<Memory> memories;
  std::vector<Plain> plains;
  // Objects of the other process; this process cannot use them.
  std::vector<Range> foreign_ranges;
  std::vector<Memory> foreign_memories;
  std::vector<Plain> foreign_plains;
  int process = 0;
  // Objects of both processes.
  std::vector<Descriptor> descriptors;
  std::vector<External> externals;
  std::vector<Pool> pools;
  std::vector<Token> tokens;
  std::vector<Ids> ids;
  std::vector<Endpoint> endpoints;
  std::vector<Ticket> tickets;
  std::vector<Array> arrays;
  std::vector<Mipmap> mipmaps;
  std::vector<TilePool> tile_pools;
  std::vector<Stream> streams;
  std::vector<Event> events;
  std::vector<Graph> graphs, executables;
  unsigned captures = 0;  ///< that began so far
  std::vector<Dead> dead;
  int device[kActors] = {0, -1, -1, 0};
  bool used[kNameKinds][256] = {};

  /// Makes `which` the process of the next calls.
  void turn_to(int which);
  /// All mappings with the names of their ranges; valid until the next follow().
  std::vector<Piece> pieces() const;
  const Memory* memory(std::uint8_t name) const;
  /// Whether a token of legacy IPC came from the other process, and its memory has not been freed.
  bool arrived(const Token& token) const;
  /// Whether the other process has opened this memory.
  bool open_elsewhere(const Plain& plain) const;
  /// Whether each byte of a multicast object is bound for each device.
  bool all_bound(const Memory& object) const;
  const Endpoint* endpoint(std::uint8_t name, unsigned index) const;
  /// Whether a capture is under way.
  bool capturing() const;
  /// A name that no object has had; any name when all are taken.
  std::uint8_t free_name(NameKind kind, std::uint32_t otherwise) const;
  /// Marks the names that later ops bind as taken.
  void avoid(const Ops& ops);
  void follow(const Op& op);

 private:
  /// follow() for the calls of other areas; false for a call of VMM.
  bool follow_area(const Op& op);
  // The calls of VMM, by what they change.
  void follow_range(const Op& op);
  void follow_memory(const Op& op);
  void follow_descriptor(const Op& op);
  void follow_multicast(const Op& op);
  void follow_pool(const Op& op);
  void follow_array(const Op& op);
  void follow_tiles(const Op& op);
  void follow_capture(const Op& op);
  void end_capture(unsigned capture);
  void follow_endpoint(const Op& op);
  void follow_endpoint_bind(const Op& op, Endpoint& endpoint);
  void follow_endpoint_import(const Op& op);
  void follow_endpoint_query(const Op& op);
  void add_plain(const Plain& plain);
};

}  // namespace cuvmm::fuzz
