// SPDX-License-Identifier: Apache-2.0
// The 64 bytes by which other processes find a team: a ticket (emulator/machine/ticket.h) in a file
// of its own, which names the descriptor and the inode of the team's file.
#pragma once

#include <memory>
#include <optional>

#include "emulator/base/descriptor.h"
#include "emulator/machine/team.h"
#include "emulator/machine/ticket.h"

namespace cuvmm::emulator {

/// The ticket of one process for one team; valid while the object lives.
class TeamTicket {
 public:
  /// The bytes, made at the first call; nothing when the host has no descriptor or no memory left.
  std::optional<IpcBytes> bytes(const Team& team, TicketKind kind);

 private:
  Descriptor file_;
  IpcBytes bytes_{};
};

/// The team behind bytes of unknown origin.
struct FollowedTeam {
  Facts::Token token = Facts::Token::kForged;
  std::shared_ptr<Team> team;  ///< null unless the ticket is valid (kValid, kOwn)
  bool own_host = true;        ///< a process of this host made the ticket
};
/// `devices`: the number of devices that this process sees. `machine`: those of the machine.
FollowedTeam follow_team(const IpcBytes& bytes, TicketKind kind, int devices, int machine);

}  // namespace cuvmm::emulator
