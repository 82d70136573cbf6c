// SPDX-License-Identifier: Apache-2.0
// cuLogicalEndpointExport and Import: the 64 bytes of a handle are the ticket of a team
// (emulator/machine/team_ticket.h).
#include <cstring>

#include "emulator/endpoint/endpoint_entry.h"
#include "emulator/machine/team_ticket.h"

namespace cuvmm::emulator {

namespace {

// The team behind the bytes of a handle of unknown origin; null: the bytes lead to no team.
std::shared_ptr<Team> find_team(const Emulator& e, const void* handle) {
  IpcBytes bytes;
  std::memcpy(&bytes, handle, sizeof bytes);
  auto team = follow_team(bytes, TicketKind::kEndpoint, e.device_count(), e.machine_devices()).team;
  return team && team->kind() != TeamKind::kMulticast ? team : nullptr;
}

}  // namespace

CUresult perform(Emulator& e, const calls::LogicalEndpointExport& call, const Facts&,
                 const Retired&) {
  EndpointObject* endpoint = e.endpoints.find(call.leId);
  if (!endpoint || !call.handle) return CUDA_ERROR_INVALID_VALUE;
  const auto bytes = endpoint->ticket.bytes(*endpoint->team, TicketKind::kEndpoint);
  if (!bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memcpy(call.handle, &*bytes, sizeof *bytes);
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
