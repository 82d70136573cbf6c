// SPDX-License-Identifier: Apache-2.0
// The multicast objects of this process, by handle.
#pragma once

#include <atomic>
#include <memory>
#include <unordered_map>
#include <utility>

#include "emulator/machine/team.h"
#include "emulator/machine/team_ticket.h"
#include "rulebook/model/model.h"

namespace cuvmm::emulator {

/// The multicast objects. Each has a placeholder in PhysicalMemory as well, which gives it its
/// handle.
class Teams {
 public:
  bool empty() const { return teams_.empty(); }
  /// Whether the process ever had a multicast object. The only function here that needs no
  /// emulator's lock.
  bool ever() const { return ever_.load(std::memory_order_acquire); }
  /// The object of a handle; null for a handle of no multicast object.
  Team* find(Handle handle) const {
    const auto found = teams_.find(handle);
    return found == teams_.end() ? nullptr : found->second.get();
  }
  bool contains(Handle handle) const { return find(handle) != nullptr; }
  /// As find(), for callers that use the object without the emulator's lock.
  std::shared_ptr<Team> share(Handle handle) const {
    const auto found = teams_.find(handle);
    return found == teams_.end() ? nullptr : found->second;
  }
  void add(Handle handle, std::shared_ptr<Team> team) {
    teams_[handle] = std::move(team);
    ever_.store(true, std::memory_order_release);
  }
  void drop(Handle handle) {
    teams_.erase(handle);
    tickets_.erase(handle);
  }
  /// The ticket by which other processes find an object, valid while this process has its handle.
  TeamTicket& ticket(Handle handle) { return tickets_[handle]; }

 private:
  std::unordered_map<Handle, std::shared_ptr<Team>> teams_;
  std::unordered_map<Handle, TeamTicket> tickets_;
  std::atomic<bool> ever_{false};
};

}  // namespace cuvmm::emulator
