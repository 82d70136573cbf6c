// SPDX-License-Identifier: Apache-2.0
// External memory, the buffers that show it, and external semaphores, as one process knows them.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "api/calls.h"
#include "rulebook/objects/external_objects.h"
#include "rulebook/states/surroundings.h"

namespace cuvmm {

/// The verbs are those of UnicastState.
class ExternalState {
 public:
  using Memories = std::unordered_map<std::uint64_t, ExternalMemory>;
  using Buffers = std::map<std::uint64_t, ExternalBuffer>;
  using Semaphores = std::unordered_map<std::uint64_t, ExternalSemaphore>;
  const Memories& memories() const { return memories_; }        ///< by handle
  const Buffers& buffers() const { return buffers_; }           ///< by address
  const Semaphores& semaphores() const { return semaphores_; }  ///< by handle

  /// The buffer that holds `address`, or null.
  const ExternalBuffer* buffer_at(std::uint64_t address) const {
    auto it = buffers_.upper_bound(address);
    if (it == buffers_.begin()) return nullptr;
    --it;
    return address - it->second.base < it->second.size ? &it->second : nullptr;
  }

  void begin(const calls::DestroyExternalMemory& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const calls::DestroyExternalSemaphore& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const calls::MemFree& call, Origin at, const Surroundings& around, Retired& retired);
  void begin(const calls::MemFreeAsync& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const Ending& ending, Origin at, const Surroundings& around, Retired& retired);

  void confirm(const calls::ImportExternalMemory& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::ExternalMemoryGetMappedBuffer& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::ImportExternalSemaphore& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::SignalExternalSemaphoresAsync& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const RarelyRetired& taken, Origin at, const Surroundings& around);

  void undo(const RarelyRetired& taken, Origin at, const Surroundings& around);

 private:
  Memories memories_;
  Buffers buffers_;
  Semaphores semaphores_;
};

}  // namespace cuvmm
