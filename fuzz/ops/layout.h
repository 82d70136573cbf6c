// SPDX-License-Identifier: Apache-2.0
// Tells which calls of a program depend on the addresses and handles that the driver happened to
// choose.
#pragma once

#include <vector>

#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

/// Follows a program by its names alone. A call leaves them when it reaches past the reservation
/// that its name stands for, or uses the name of what is freed: then the answer depends on what
/// else lies there, which is the driver's own affair (address-space layout, reuse of handle
/// values). So it is with a range or a handle of another process: the number may be a good one
/// here.
class Layout {
 public:
  /// What an op's answer depends on; null for nothing but the program.
  const char* leaves(const Op& op) const;
  /// What makes its answer one of chance on a real driver; null for nothing:
  /// - it maps, or gives access to, GPUDirect RDMA memory whose oldest mapping was unmapped while
  /// it
  ///   had others, of which a driver refuses some and not others, as stale memory would;
  /// - it creates gigabytes of TILE_POOL memory, which a driver may not have at that moment.
  const char* unsettled(const Op& op) const;
  /// Whether the address of the call lies in what its name stands for, wherever the call ends.
  bool begins_inside(const Op& op) const;
  /// The op succeeded: its names stand for something else now.
  void succeeded(const Op& op);
  /// The op failed or was not run: what it would have made does not exist.
  void failed(const Op& op);

 private:
  enum : int { kUnbound = 0, kFailed = -1, kTaken = -2 };  // else an index + 1
  /// Made, of a kind whose names are only bound or not.
  static constexpr int kSomething = 1;
  struct Range {
    std::uint64_t size;
    bool live;
    int process;
    int source = 0;   ///< what it shows, if it was opened by another process than made it
    int device = -1;  ///< in whose context
    int opens = 0;
    /// The memory of a pool that it was imported of: imported again, it is the same pointer.
    int pointer_of = 0;
  };
  struct Mapping {
    int range, memory;
    std::uint64_t at, size;
    bool live;
  };
  /// An allocation as one process knows it, whatever its handles.
  struct Object {
    bool rdma;
    bool oldest_gone;
  };
  struct Memory {
    int references, mappings, object;
    int process;  ///< whose handle it is
    bool alive() const { return references > 0 || mappings > 0; }
  };

  const char* leaves_range(int process, std::uint8_t name, std::uint64_t at,
                           std::uint64_t size) const;
  const char* leaves_memory(int process, std::uint8_t name) const;
  const Object* object_of(std::uint8_t name) const;

  // What a call that succeeded changes; what the name that it makes stands for then.
  int change(const Op& op);
  int change_ranges(const Op& op);
  int change_memories(const Op& op);
  void change_mappings(const Op& op);
  int change_descriptors(const Op& op);
  int change_pools(const Op& op);
  int change_shared(const Op& op);  ///< of memory that another process, or an import, shows
  // What is new: its index, + 1 but for an object.
  int add(const Range& range);
  int add_memory(const Op& op, int object);
  int add_object(bool rdma);
  int open(const Op& op, int from);

  void unmap(Mapping& mapping);

  /// What a name stands for; null where that is unknown.
  Range* range_of(std::uint8_t number) {
    const int index = bound(NameKind::kRange, number);
    return index > 0 ? &ranges_[static_cast<std::size_t>(index - 1)] : nullptr;
  }
  Memory* memory_of(std::uint8_t number) {
    const int index = bound(NameKind::kMemory, number);
    return index > 0 ? &memories_[static_cast<std::size_t>(index - 1)] : nullptr;
  }
  std::uint64_t size_behind(int range) const {
    return range > 0 ? ranges_[static_cast<std::size_t>(range - 1)].size : 0;
  }
  int& name(NameKind kind, std::uint8_t number) {
    return names_[static_cast<std::size_t>(kind)][number];
  }
  int bound(NameKind kind, std::uint8_t number) const {
    return number ? names_[static_cast<std::size_t>(kind)][number] : int{kUnbound};
  }

  int names_[kNameKinds][256] = {};
  int device_[kActors] = {};
  std::vector<Range> ranges_;
  std::vector<Mapping> mappings_;
  std::vector<Memory> memories_;
  std::vector<bool> pools_;          ///< whether each is alive
  std::vector<Object> objects_{{}};  ///< the first is what an unknown descriptor imports
};

}  // namespace cuvmm::fuzz
