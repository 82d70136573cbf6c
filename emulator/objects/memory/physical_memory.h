// SPDX-License-Identifier: Apache-2.0
// The physical memory behind the handles of cuMemCreate and related calls.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/machine/physical.h"
#include "rulebook/model/model.h"

namespace cuvmm::emulator {

/// The handles of this process, and the last properties of dead handles.
class PhysicalMemory {
 public:
  /// The memory of a handle, or null.
  Physical* find(Handle handle) {
    const auto found = live_.find(handle);
    return found == live_.end() ? nullptr : &found->second;
  }
  const Physical* find(Handle handle) const {
    return const_cast<PhysicalMemory*>(this)->find(handle);
  }
  /// Makes memory, as Physical's constructors do, under a new handle. Values of freed allocations
  /// come back, as they do on a real driver.
  template <class... Args>
  Handle add(Args&&... args) {
    const Handle handle = next_handle();
    live_.try_emplace(handle, std::forward<Args>(args)...);
    return handle;
  }
  /// Ends the memory of a handle; false where the handle has no memory.
  bool drop(Handle handle);
  /// Ends released memory of which no exported descriptor is left; until then the memory counts as
  /// used.
  void drop_unheld() const;
  /// The properties last seen behind a dead handle (a driver reads freed memory there).
  std::optional<CUmemAllocationProp> stale_prop(Handle handle) const;

  template <class Predicate>
  bool any_of(Predicate is_so) {
    for (auto& [handle, memory] : live_) {
      if (is_so(handle, memory)) return true;
    }
    return false;
  }

 private:
  Handle next_handle();

  std::unordered_map<Handle, Physical> live_;
  /// Memory that was released here while an exported descriptor still held it, at the last look.
  /// Each element keeps a descriptor open; memory beyond kMostHeld elements does not count as used.
  mutable std::vector<Physical> held_;
  static constexpr std::size_t kMostHeld = 256;
  std::vector<Handle> free_handles_;
  Handle last_handle_ = 0;
  static constexpr std::size_t kStale = 64;
  std::pair<Handle, CUmemAllocationProp> stale_[kStale] = {};
  std::size_t next_stale_ = 0;
};

}  // namespace cuvmm::emulator
