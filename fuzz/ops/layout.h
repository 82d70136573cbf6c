// SPDX-License-Identifier: Apache-2.0
// Finds the calls of a program whose answer depends on the addresses and handles that the driver
// happened to choose.
#pragma once

#include <vector>

#include "fuzz/ops/op.h"

namespace cuvmm::fuzz {

/// Follows a program by its names alone. A call leaves its names when it reaches past the
/// reservation that the name stands for, or uses the name of a freed object. Then the answer
/// depends on the driver's layout of addresses and reuse of handles. A range or a handle of another
/// process leaves the names as well, because its number may be valid in this process.
class Layout {
 public:
  /// A sentence that says what the op's answer depends on beside the program; null for nothing.
  const char* leaves(const Op& op) const;
  /// A sentence that says why a real driver's answer is a matter of chance; null where it is not:
  /// - the op maps, or gives access to, GPUDirect RDMA memory whose oldest mapping was unmapped
  /// while the memory had others: a driver refuses some of these and not others, as for stale
  /// memory;
  /// - the op creates gigabytes of TILE_POOL memory, which a driver may not have at that moment.
  const char* unsettled(const Op& op) const;
  /// Whether the address of the call lies in the object of its name, wherever the call ends.
  bool begins_inside(const Op& op) const;
  /// Must be called after the op succeeded; binds its names anew.
  void succeeded(const Op& op);
  /// Must be called after the op failed or was not run: the object that it would have made does not
  /// exist.
  void failed(const Op& op);

 private:
  enum : int { kUnbound = 0, kFailed = -1, kTaken = -2 };  // else an index + 1
  /// The binding of a name of a kind that is only bound or not.
  static constexpr int kSomething = 1;
  struct Range {
    std::uint64_t size;
    bool live;
    int process;
    int source = 0;   ///< for memory opened from another process: the range over there
    int device = -1;  ///< device of the context that made it
    int opens = 0;
    /// For memory imported from a pool: the pool's memory; a second import gives an equal pointer.
    int pointer_of = 0;
  };
  struct Mapping {
    int range, memory;
    std::uint64_t at, size;
    bool live;
  };
  /// An allocation as one process knows it, with all its handles.
  struct Object {
    bool rdma;
    bool oldest_ended;
  };
  struct Memory {
    int references, mappings, object;
    int process;  ///< the process of the handle
    bool alive() const { return references > 0 || mappings > 0; }
  };

  const char* leaves_range(int process, std::uint8_t name, std::uint64_t at,
                           std::uint64_t size) const;
  const char* leaves_memory(int process, std::uint8_t name) const;
  const Object* object_of(std::uint8_t name) const;

  // Follow a successful call; return what the name that it makes stands for.
  int change(const Op& op);
  int change_ranges(const Op& op);
  int change_memories(const Op& op);
  void change_mappings(const Op& op);
  int change_descriptors(const Op& op);
  int change_pools(const Op& op);
  int change_shared(const Op& op);  ///< for memory that another process, or an import, shares
  // Return the new index + 1; for an object, the index.
  int add(const Range& range);
  int add_memory(const Op& op, int object);
  int add_object(bool rdma);
  int open(const Op& op, int from);

  void unmap(Mapping& mapping);

  /// The object of a name; null where it is unknown.
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
  std::vector<bool> pools_;          ///< true: the pool is alive
  std::vector<Object> objects_{{}};  ///< the first is for unknown descriptors
};

}  // namespace cuvmm::fuzz
