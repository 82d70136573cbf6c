// SPDX-License-Identifier: Apache-2.0
// The plain memory of one process, and the streams that the process destroyed.
//
// The model lacks memory from before the first call that cuvmm saw, memory of graphs and of
// modules, and memory that another library allocated by a route of its own. Such memory is unknown,
// not wrong.
// not wrong.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "api/calls.h"
#include "rulebook/objects/memory_objects.h"
#include "rulebook/states/surroundings.h"

namespace cuvmm {

/// The verbs are those of UnicastState. Streams are known only as tombstones, after their end,
/// because the model does not follow the calls that make streams, and a driver reuses their
/// handles.
class MemoryState {
 public:
  const std::map<std::uint64_t, PlainMemory>& all() const { return memory_; }  ///< by base
  /// The live memory that holds this address, or null.
  const PlainMemory* at(std::uint64_t address) const;
  /// The first live memory that shares a byte with the range, or null.
  const PlainMemory* first_in(std::uint64_t base, std::uint64_t size) const;

  void begin(const calls::MemFree& call, Origin at, const Surroundings& around, Retired& retired);
  void begin(const calls::MemFreeAsync& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const calls::MemFreeHost& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const calls::MemHostUnregister& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const calls::StreamDestroy& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const Ending& ending, Origin at, const Surroundings& around, Retired& retired);

  /// `facts` name the context and its device, where known.
  void confirm(const calls::MemAlloc& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemAllocPitch& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemAllocManaged& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemAllocHost& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemHostAlloc& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::MemHostRegister& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const RarelyRetired& taken, Origin at, const Surroundings& around);

  void undo(const RarelyRetired& taken, Origin at, const Surroundings& around);

  /// Memory that the program never freed and that ended with its context, and memory that it never
  /// unregistered before; added up by kind and by the stack that made it.
  struct Together {
    std::uint64_t count = 0;
    std::uint64_t size = 0;  ///< bytes
    std::uint64_t base = 0;  ///< of the first of it
    Origin first;            ///< the call that made the first of it
  };
  using EndedWithContext = std::map<std::pair<PlainMemory::Kind, std::uint32_t>, Together>;
  const EndedWithContext& ended_with_context() const { return ended_with_context_; }

  /// The invariant, for assertions: no two pieces of memory share a byte, and each is found by its
  /// base.
  bool consistent() const;

 private:
  using Kind = PlainMemory::Kind;
  void add(std::uint64_t base, std::uint64_t size, Kind kind, const Facts& facts, Origin at);
  void put_back(const PlainMemory& memory);
  template <class Ends>
  void take(std::uint64_t base, const Surroundings& around, Retired& retired, Ends ends);

  std::map<std::uint64_t, PlainMemory> memory_;
  EndedWithContext ended_with_context_;
};

}  // namespace cuvmm
