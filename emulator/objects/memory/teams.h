// SPDX-License-Identifier: Apache-2.0
// The multicast objects of this process, by handle.
#pragma once

#include <atomic>
#include <memory>
#include <unordered_map>
#include <utility>

#include "emulator/machine/team.h"
#include "rulebook/model/model.h"

namespace cuvmm::emulator {

/// Each has a placeholder in PhysicalMemory as well, which gives it its handle.
class Teams {
 public:
  bool empty() const { return teams_.empty(); }
  /// Whether there ever was one. The one thing here that is asked without the emulator's lock.
  bool ever() const { return ever_.load(std::memory_order_acquire); }
  /// Null for what is no multicast object.
  Team* find(Handle handle) const {
    const auto found = teams_.find(handle);
    return found == teams_.end() ? nullptr : found->second.get();
  }
  bool contains(Handle handle) const { return find(handle) != nullptr; }
  /// As find(), for who uses it without the emulator's lock.
  std::shared_ptr<Team> share(Handle handle) const {
    const auto found = teams_.find(handle);
    return found == teams_.end() ? nullptr : found->second;
  }
  void add(Handle handle, std::shared_ptr<Team> team) {
    teams_[handle] = std::move(team);
    ever_.store(true, std::memory_order_release);
  }
  void drop(Handle handle) { teams_.erase(handle); }

 private:
  std::unordered_map<Handle, std::shared_ptr<Team>> teams_;
  std::atomic<bool> ever_{false};
};

}  // namespace cuvmm::emulator
