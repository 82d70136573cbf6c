// SPDX-License-Identifier: Apache-2.0
// cuLogicalEndpoint*: ids, endpoints, their devices and their bindings. An endpoint is a team
// (emulator/machine/team.h) that processes share; a unicast endpoint has its owner as its only
// device.
#include <algorithm>

#include "emulator/core/locked.h"
#include "emulator/endpoint/endpoint_entry.h"

namespace cuvmm::emulator {

namespace {

void find_team(const Emulator& e, std::uint32_t id, Facts::Endpoint& endpoint) {
  const EndpointObject* found = e.endpoints.find(id);
  if (!found) return;
  const Team::Members members = found->team->members();
  endpoint.team = members.visible;
  endpoint.hidden = members.hidden;
}

CUresult bind(Emulator& e, const EndpointBind& call) {
  const EndpointObject* endpoint = e.endpoints.find(call.endpoint);
  if (!endpoint || !endpoint->team->complete()) return CUDA_ERROR_INVALID_VALUE;
  Team& team = *endpoint->team;
  auto [handle, offset] = e.model.memory_of(call);
  Physical* memory = e.teams.contains(handle) ? nullptr : e.physical.find(handle);
  PlainAllocation* pooled = call.by_address ? e.plain.at(call.address) : nullptr;
  if (pooled && pooled->pool) {
    memory = &pooled->memory;
    offset = pooled->offset + (call.address - pooled->base);
  }
  if (!memory || !e.valid_device(call.device)) return CUDA_ERROR_INVALID_VALUE;
  if (call.size == 0 || offset > memory->size() || call.size > memory->size() - offset ||
      call.offset > team.size() || call.size > team.size() - call.offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int fd = memory->descriptor();
  if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  return team.bind(call.device, call.offset, call.size, {fd, offset});
}

// The first of `count` consecutive ids that are not reserved; 0 where no such ids exist.
std::uint32_t free_ids(const Model& model, std::uint32_t count) {
  std::uint64_t base = 1;
  for (const auto& [at, ids] : model.endpoints().ids()) {
    if (at >= base && at - base >= count) break;
    base = std::max(base, std::uint64_t{at} + ids.count);
  }
  return base + count <= ~std::uint32_t{0} ? static_cast<std::uint32_t>(base) : 0;
}

}  // namespace

// --- What is asked of a call before it is checked

void add_facts(const Emulator& e, const calls::LogicalEndpointCreate&, Facts& facts) {
  facts.endpoint.alignment = e.profile.endpoint_bind_alignment;
  facts.endpoint.max_size = e.profile.endpoint_max_size;
}

#define CUVMM_ENDPOINT_FACTS(Name)                                           \
  void add_facts(const Emulator& e, const calls::Name& call, Facts& facts) { \
    find_team(e, call.leId, facts.endpoint);                                 \
  }
CUVMM_ENDPOINT_FACTS(LogicalEndpointAddDevice)
CUVMM_ENDPOINT_FACTS(LogicalEndpointBindAddr)
CUVMM_ENDPOINT_FACTS(LogicalEndpointBindMem)
CUVMM_ENDPOINT_FACTS(LogicalEndpointUnbind)
#undef CUVMM_ENDPOINT_FACTS

// --- Drivers that are older than the calls

#define CUVMM_OLDER(Name, version)                                                     \
  std::optional<CUresult> quirk(const Emulator& e, const calls::Name&, const Facts&) { \
    if (e.profile.cuda_version >= (version)) return std::nullopt;                      \
    return CUDA_ERROR_NOT_SUPPORTED;                                                   \
  }
CUVMM_OLDER(LogicalEndpointIdReserve, 13030)
CUVMM_OLDER(LogicalEndpointIdRelease, 13030)
CUVMM_OLDER(LogicalEndpointCreate, 13030)
CUVMM_OLDER(LogicalEndpointAddDevice, 13030)
CUVMM_OLDER(LogicalEndpointDestroy, 13030)
CUVMM_OLDER(LogicalEndpointBindAddr, 13030)
CUVMM_OLDER(LogicalEndpointBindMem, 13030)
CUVMM_OLDER(LogicalEndpointUnbind, 13030)
CUVMM_OLDER(LogicalEndpointExport, 13030)
CUVMM_OLDER(LogicalEndpointImport, 13030)
CUVMM_OLDER(LogicalEndpointGetLimits, 13030)
CUVMM_OLDER(LogicalEndpointQuery, 13030)
CUVMM_OLDER(FabricCpyBatchAsync, 13050)
#undef CUVMM_OLDER

// --- The calls

CUresult perform(Emulator& e, const calls::LogicalEndpointIdReserve& call, const Facts&,
                 const Retired&) {
  if (!call.baseLeId) return CUDA_ERROR_INVALID_VALUE;
  const std::uint32_t base = free_ids(e.model, call.count);
  if (base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *call.baseLeId = base;
  return CUDA_SUCCESS;
}

// The model owns the ids, and has released them already.
CUresult perform(Emulator&, const calls::LogicalEndpointIdRelease&, const Facts&, const Retired&) {
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::LogicalEndpointCreate& call, const Facts&,
                 const Retired&) {
  if (!call.prop || call.prop->size == 0 || e.endpoints.find(call.leId)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  EndpointObject made;
  if (call.prop->type == CU_LOGICAL_ENDPOINT_TYPE_UNICAST) {
    made.owner = call.prop->unicast.device;
    if (!e.valid_device(made.owner)) return CUDA_ERROR_INVALID_VALUE;
    made.team = Team::create(1, call.prop->size, TeamKind::kUnicastEndpoint);
    if (made.team) made.team->add(made.owner);
  } else if (call.prop->type == CU_LOGICAL_ENDPOINT_TYPE_MULTICAST) {
    if (call.prop->multicast.numDevices == 0) return CUDA_ERROR_INVALID_VALUE;
    made.team = Team::create(call.prop->multicast.numDevices, call.prop->size,
                             TeamKind::kMulticastEndpoint);
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!made.team) return CUDA_ERROR_OUT_OF_MEMORY;
  e.endpoints.add(call.leId, std::move(made));
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::LogicalEndpointAddDevice& call, const Facts&,
                 const Retired&) {
  EndpointObject* endpoint = e.endpoints.find(call.leId);
  if (!endpoint || endpoint->team->kind() != TeamKind::kMulticastEndpoint) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!e.valid_device(call.dev)) return CUDA_ERROR_INVALID_DEVICE;
  return endpoint->team->add(call.dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult perform(Emulator& e, const calls::LogicalEndpointDestroy& call, const Facts&,
                 const Retired& retired) {
  EndpointObject* endpoint = e.endpoints.find(call.leId);
  if (!endpoint) return CUDA_ERROR_INVALID_VALUE;
  // The bindings of this process end; those of other processes stay as long as one of them has the
  // endpoint.
  if (retired.rare) {
    for (const Endpoint& ended : retired.rare->endpoints.endpoints) {
      for (const EndpointBinding& b : ended.bindings) endpoint->team->unbind(b.device, b.offset);
    }
  }
  e.endpoints.drop(call.leId);
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::LogicalEndpointBindAddr& call, const Facts&,
                 const Retired&) {
  return bind(e, bind_of(call));
}

CUresult perform(Emulator& e, const calls::LogicalEndpointBindMem& call, const Facts&,
                 const Retired&) {
  return bind(e, bind_of(call));
}

CUresult perform(Emulator& e, const calls::LogicalEndpointUnbind& call, const Facts&,
                 const Retired& retired) {
  EndpointObject* endpoint = e.endpoints.find(call.leId);
  if (!endpoint || !retired.rare) return CUDA_ERROR_INVALID_VALUE;
  for (const EndpointBinding& b : retired.rare->endpoints.bindings) {
    endpoint->team->unbind(b.device, b.offset);
  }
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::LogicalEndpointGetLimits& call, const Facts&,
                 const Retired&) {
  if (!call.bindAlignment || !call.maxSize || !call.prop) return CUDA_ERROR_INVALID_VALUE;
  *call.bindAlignment = e.profile.endpoint_bind_alignment;
  *call.maxSize = e.profile.endpoint_max_size;
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::LogicalEndpointQuery& call, const Facts&,
                 const Retired&) {
  if (!call.queryStatus) return CUDA_ERROR_INVALID_VALUE;
  bool ready = true;
  for (std::uint32_t i = 0; i < call.count && ready; ++i) {
    const EndpointObject* endpoint = e.endpoints.find(call.leId + i);
    if (!endpoint) return CUDA_ERROR_INVALID_VALUE;
    ready = endpoint->team->complete();
  }
  *call.queryStatus = ready;
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
