// SPDX-License-Identifier: Apache-2.0
// cuLogicalEndpointExport and Import: the 64 bytes of a handle are a ticket
// (emulator/machine/ticket.h). The ticket's `size` is the descriptor of the endpoint's team, plus
// 1, and its `pool` is that file's inode.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "emulator/base/system.h"
#include "emulator/endpoint/endpoint_entry.h"
#include "emulator/machine/ticket.h"

namespace cuvmm::emulator {

namespace {

// The size in bytes of a ticket's file, which bounds the descriptor plus 1.
constexpr std::uint64_t kFile = std::uint64_t{1} << 20;

IpcBytes bytes_at(const void* handle) {
  IpcBytes bytes;
  std::memcpy(&bytes, handle, sizeof bytes);
  return bytes;
}

// The team behind the bytes of a handle of unknown origin; null: the bytes lead to no team.
std::shared_ptr<Team> find_team(const Emulator& e, const void* handle) {
  const Followed followed =
      follow_ticket(bytes_at(handle), TicketKind::kEndpoint, e.device_count());
  if (followed.fd < 0) return nullptr;
  sys_close(followed.fd);
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
    return nullptr;
  }
  const int fd = sys_open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  auto team = Team::open(fd, e.machine_devices());
  sys_close(fd);
  return team && team->kind() != TeamKind::kMulticast ? team : nullptr;
}

}  // namespace

CUresult perform(Emulator& e, const calls::LogicalEndpointExport& call, const Facts&,
                 const Retired&) {
  EndpointObject* endpoint = e.endpoints.find(call.leId);
  if (!endpoint || !call.handle) return CUDA_ERROR_INVALID_VALUE;
  if (endpoint->ticket_file.get() < 0) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    struct stat status;
    const int team = endpoint->team->descriptor();
    if (team < 0 || ::fstat(team, &status) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
    Descriptor file(create_shareable(kFile, prop, ShareableKind::kEndpoint));
    if (file.get() < 0 ||
        !issue_ticket(file.get(), TicketKind::kEndpoint, static_cast<std::uint64_t>(team) + 1,
                      status.st_ino, endpoint->handle)) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    endpoint->ticket_file = std::move(file);
  }
  std::memcpy(call.handle, &endpoint->handle, sizeof endpoint->handle);
  return CUDA_SUCCESS;
}

void add_facts(const Emulator& e, const calls::LogicalEndpointImport& call, Facts& facts) {
  if (!call.handle || call.handleType != CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC) return;
  const auto team = find_team(e, call.handle);
  facts.endpoint.handle_valid = team ? Facts::Answer::kYes : Facts::Answer::kNo;
  if (!team) return;
  facts.endpoint.type = team->kind() == TeamKind::kUnicastEndpoint
                            ? unsigned{CU_LOGICAL_ENDPOINT_TYPE_UNICAST}
                            : unsigned{CU_LOGICAL_ENDPOINT_TYPE_MULTICAST};
  facts.endpoint.devices = team->devices();
  facts.endpoint.size = team->size();
  facts.endpoint.alignment = e.profile.endpoint_bind_alignment;
}

CUresult perform(Emulator& e, const calls::LogicalEndpointImport& call, const Facts&,
                 const Retired&) {
  if (!call.handle || e.endpoints.find(call.leId)) return CUDA_ERROR_INVALID_VALUE;
  if (call.handleType != CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  EndpointObject made;
  made.team = find_team(e, call.handle);
  if (!made.team) return CUDA_ERROR_INVALID_VALUE;
  made.imported = true;
  e.endpoints.add(call.leId, std::move(made));
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
