// SPDX-License-Identifier: Apache-2.0
// cuMemExportToShareableHandle and cuMemImportFromShareableHandle.
#include <fcntl.h>
#include <sys/file.h>

#include <cstring>

#include "api/location.h"
#include "emulator/base/system.h"
#include "emulator/core/record.h"
#include "emulator/hostile/hostile_driver.h"
#include "emulator/machine/shareable.h"
#include "emulator/machine/team_ticket.h"
#include "emulator/vmm/multicast.h"
#include "emulator/vmm/vmm_entry.h"

namespace cuvmm::emulator {

namespace {

int descriptor_of(const calls::MemImportFromShareableHandle& call) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(call.osHandle));
}

bool is_posix(CUmemAllocationHandleType type) {
  return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

bool is_fabric(CUmemAllocationHandleType type) { return type == CU_MEM_HANDLE_TYPE_FABRIC; }

// The object behind a fabric handle: memory, or a multicast object.
struct FabricObject {
  Facts::Token token = Facts::Token::kForged;
  int fd = -1;  // of memory; the caller closes it
  Shareable file;
  std::shared_ptr<Team> team;
  bool own_host = true;
};

FabricObject follow_fabric(const Emulator& e, const void* handle) {
  IpcBytes bytes;
  std::memcpy(&bytes, handle, sizeof bytes);
  FabricObject out;
  const Followed memory = follow_ticket(bytes, TicketKind::kFabricMemory, e.device_count());
  out.token = memory.token;
  out.fd = memory.fd;
  out.file = memory.file;
  out.own_host = memory.file.own_host;
  if (memory.token != Facts::Token::kForged) return out;
  FollowedTeam team =
      follow_team(bytes, TicketKind::kFabricMulticast, e.device_count(), e.machine_devices());
  out.token = team.token;
  out.own_host = team.own_host;
  out.team = std::move(team.team);
  return out;
}

CUresult import_fabric(Emulator& e, const calls::MemImportFromShareableHandle& call) {
  FabricObject found = follow_fabric(e, call.osHandle);
  const bool known = found.team || found.fd >= 0;
  if (known &&
      (e.outage() == Outage::kImexDaemon || (e.outage() == Outage::kDomains && !found.own_host))) {
    if (found.fd >= 0) sys_close(found.fd);
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (found.team) {
    *call.handle = adopt(e, std::move(found.team));
    return CUDA_SUCCESS;
  }
  if (found.fd < 0) return CUDA_ERROR_INVALID_VALUE;
  // The exporter looks for this lock to see whether its memory is held elsewhere.
  flock(found.fd, LOCK_SH | LOCK_NB);
  Physical memory(found.fd);
  memory.describe(found.file.size, found.file.prop);
  *call.handle = e.physical.add(std::move(memory));
  hostile_driver().imported();
  return CUDA_SUCCESS;
}

// A logical endpoint has a file of the same format, but is no multicast object.
std::shared_ptr<Team> open_multicast(const Emulator& e, int fd) {
  auto team = Team::open(fd, e.machine_devices());
  return team && team->kind() == TeamKind::kMulticast ? team : nullptr;
}

int duplicate(int fd) { return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0); }

}  // namespace

CUresult perform(Emulator& e, const calls::MemExportToShareableHandle& call, const Facts&,
                 const Retired&) {
  if (!call.shareableHandle) return CUDA_ERROR_INVALID_VALUE;
  if (!is_posix(call.handleType) && !is_fabric(call.handleType)) return CUDA_ERROR_NOT_SUPPORTED;
  Physical* memory = e.physical.find(call.handle);
  if (!memory) return CUDA_ERROR_INVALID_VALUE;
  const Team* team = e.teams.find(call.handle);
  if (is_fabric(call.handleType)) {
    const auto bytes = team ? e.teams.ticket(call.handle).bytes(*team, TicketKind::kFabricMulticast)
                            : memory->fabric_handle();
    if (!bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    std::memcpy(call.shareableHandle, &*bytes, sizeof *bytes);
    return CUDA_SUCCESS;
  }
  // Each export gets a new descriptor, which the program closes.
  const int exported = team ? duplicate(team->descriptor()) : memory->export_descriptor();
  if (exported < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *static_cast<int*>(call.shareableHandle) = exported;
  return CUDA_SUCCESS;
}

void add_facts(const Emulator& e, const calls::MemImportFromShareableHandle& call, Facts& facts) {
  if (is_fabric(call.shHandleType) && call.osHandle) {
    const FabricObject found = follow_fabric(e, call.osHandle);
    if (found.fd >= 0) sys_close(found.fd);
    facts.sharing.fabric = found.token;
  }
  if (!is_posix(call.shHandleType)) return;
  const int fd = descriptor_of(call);
  const bool valid =
      read_shareable(fd, e.device_count()).has_value() || open_multicast(e, fd) != nullptr;
  facts.sharing.descriptor_valid = valid ? Facts::Answer::kYes : Facts::Answer::kNo;
  const bool pool = !valid && read_shareable(fd, e.device_count(), ShareableKind::kPool);
  if (pool) facts.sharing.descriptor_kind = Facts::Answer::kNo;
}

CUresult perform(Emulator& e, const calls::MemImportFromShareableHandle& call, const Facts&,
                 const Retired&) {
  if (!call.handle) return CUDA_ERROR_INVALID_VALUE;
  if (is_fabric(call.shHandleType) && call.osHandle) return import_fabric(e, call);
  if (!is_posix(call.shHandleType)) return CUDA_ERROR_NOT_SUPPORTED;
  // The program may have replaced the descriptor since the check: only the copy made here is used.
  const int fd = fcntl(descriptor_of(call), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return CUDA_ERROR_INVALID_VALUE;
  Physical memory(fd);
  const auto found = read_shareable(fd, e.device_count());
  if (!found) {
    auto team = open_multicast(e, fd);
    if (!team) return CUDA_ERROR_INVALID_VALUE;
    *call.handle = adopt(e, std::move(team));
    return CUDA_SUCCESS;
  }
  memory.describe(found->size, found->prop);
  *call.handle = e.physical.add(std::move(memory));
  hostile_driver().imported();
  return CUDA_SUCCESS;
}

void record(Emulator& e, const calls::MemImportFromShareableHandle& call, const Facts& facts) {
  const Physical* memory = e.physical.find(*call.handle);
  const bool multicast = e.teams.contains(*call.handle);
  const CUmemAllocationProp& prop = memory->prop();
  const bool on_device = is_device(prop.location);
  Facts learned = facts;
  learned.sharing.imported = {.size = memory->size(),
                              .granularity = multicast   ? e.profile.multicast_granularity_minimum
                                             : on_device ? e.profile.device_granularity_minimum
                                                         : e.profile.host_granularity_minimum,
                              .prop = prop,
                              .prop_known = true};
  record_in_model(e, call, learned);
  if (multicast) record_import(e, *call.handle);
}

}  // namespace cuvmm::emulator
