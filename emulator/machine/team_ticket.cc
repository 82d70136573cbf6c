// SPDX-License-Identifier: Apache-2.0
#include "emulator/machine/team_ticket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "emulator/base/system.h"

namespace cuvmm::emulator {

// In a team's ticket `size` is the descriptor of the team's file, plus 1, and `pool` is the file's
// inode.

namespace {
// The size in bytes of a ticket's file, which bounds the descriptor plus 1.
constexpr std::uint64_t kFile = std::uint64_t{1} << 20;
}  // namespace

std::optional<IpcBytes> TeamTicket::bytes(const Team& team, TicketKind kind) {
  if (file_.get() >= 0) return bytes_;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  struct stat status;
  const int fd = team.descriptor();
  if (fd < 0 || ::fstat(fd, &status) != 0) return std::nullopt;
  Descriptor file(create_shareable(kFile, prop, ShareableKind::kTeam));
  if (file.get() < 0 ||
      !issue_ticket(file.get(), kind, static_cast<std::uint64_t>(fd) + 1, status.st_ino, bytes_)) {
    return std::nullopt;
  }
  file_ = std::move(file);
  return bytes_;
}

FollowedTeam follow_team(const IpcBytes& bytes, TicketKind kind, int devices, int machine) {
  const Followed followed = follow_ticket(bytes, kind, devices);
  FollowedTeam out{followed.token, nullptr, followed.file.own_host};
  if (followed.fd < 0) return out;
  sys_close(followed.fd);
  out.token = Facts::Token::kEnded;
  const std::string path = "/proc/" + std::to_string(followed.ticket.pid) + "/fd/" +
                           std::to_string(followed.ticket.size - 1);
  // Checks the name before the open, because to open another program's device or pipe would have
  // effects.
  constexpr std::string_view kName = "/memfd:cuvmm-multicast";
  char name[64];
  struct stat status;
  const ssize_t length = ::readlink(path.c_str(), name, sizeof name);
  if (length < 0 || !std::string_view(name, static_cast<std::size_t>(length)).starts_with(kName) ||
      ::stat(path.c_str(), &status) != 0 || status.st_ino != followed.ticket.pool) {
    return out;
  }
  const int fd = sys_open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return out;
  out.team = Team::open(fd, machine, Hosts::kAny);
  sys_close(fd);
  if (out.team) out.token = followed.token;
  return out;
}

}  // namespace cuvmm::emulator
