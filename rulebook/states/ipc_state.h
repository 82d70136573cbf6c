// SPDX-License-Identifier: Apache-2.0
// Legacy IPC as one process knows it: the handles that it made, and the memory that it opened.
#pragma once

#include <cstdint>
#include <map>

#include "api/calls.h"
#include "rulebook/objects/ipc_objects.h"
#include "rulebook/states/surroundings.h"

namespace cuvmm {

/// The verbs are those of UnicastState.
class IpcState {
 public:
  const std::map<std::uint64_t, IpcOpen>& opens() const { return opens_; }  ///< by pointer
  /// The live export with these bytes, or null.
  const IpcExport* exported(const IpcBytes& bytes) const;
  /// The opened memory at exactly this pointer, or null.
  const IpcOpen* open_of(std::uint64_t pointer) const;
  /// The opened memory that certainly holds this address, or null.
  const IpcOpen* open_at(std::uint64_t address) const;

  void begin(const calls::MemFree& call, Origin at, const Surroundings& around, Retired& retired);
  void begin(const calls::IpcCloseMemHandle& call, Origin at, const Surroundings& around,
             Retired& retired);
  void begin(const Ending& ending, Origin at, const Surroundings& around, Retired& retired);

  /// `facts` name the allocation (its base, its size) and the context, where known.
  void confirm(const calls::IpcGetMemHandle& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const calls::IpcOpenMemHandle& call, const Facts& facts, Origin at,
               const Surroundings& around);
  void confirm(const RarelyRetired& taken, Origin at, const Surroundings& around);

  void undo(const RarelyRetired& taken, Origin at, const Surroundings& around);

 private:
  void restore(const EndedContext& taken, const EndsMeanwhile& ends);

  std::map<std::uint64_t, IpcExport> exports_;  ///< by base
  std::map<std::uint64_t, IpcOpen> opens_;
};

}  // namespace cuvmm
