// SPDX-License-Identifier: Apache-2.0
// The logical endpoints of this process, by id, and the profile's description of the fabric.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "emulator/base/descriptor.h"
#include "emulator/machine/team.h"
#include "emulator/machine/team_ticket.h"
#include "rulebook/profile/profile.h"
#include "rulebook/states/ipc_state.h"

namespace cuvmm::emulator {

/// A logical endpoint: the team behind it, which other processes may share.
struct EndpointObject {
  std::shared_ptr<Team> team;
  int owner = -1;  ///< device of a unicast endpoint that was created here; else -1
  bool imported = false;
  TeamTicket ticket;  ///< its handle
};

class Endpoints {
 public:
  /// Null for an id without an endpoint.
  EndpointObject* find(std::uint32_t id) {
    const auto found = endpoints_.find(id);
    return found == endpoints_.end() ? nullptr : &found->second;
  }
  const EndpointObject* find(std::uint32_t id) const {
    const auto found = endpoints_.find(id);
    return found == endpoints_.end() ? nullptr : &found->second;
  }
  void add(std::uint32_t id, EndpointObject endpoint) { endpoints_[id] = std::move(endpoint); }
  void drop(std::uint32_t id) { endpoints_.erase(id); }

 private:
  std::unordered_map<std::uint32_t, EndpointObject> endpoints_;
};

/// Fills in which endpoints, cliques and multicast bindings the devices of a machine have.
void describe_fabric(const Profile& profile, int devices, Platform& platform);

}  // namespace cuvmm::emulator
