// SPDX-License-Identifier: Apache-2.0
// cuMulticast*: a team of devices, the memory bound to it, and its mappings.
#include "emulator/vmm/multicast.h"

#include <signal.h>
#include <unistd.h>

#include "emulator/base/device_identity.h"
#include "emulator/core/locked.h"
#include "emulator/vmm/multicast_entry.h"
#include "emulator/vmm/vmm_entry.h"

namespace cuvmm::emulator {

namespace {

// Waits for the rest of a team, for a call that is right in all other respects. The caller does not
// hold the lock, because other threads may have to work before other processes can.
template <class CallStruct>
void wait_for_team(Handle handle, const CallStruct& call) {
  std::shared_ptr<Team> team;
  std::chrono::milliseconds timeout{0};
  locked(
      [&](Emulator& e) {
        const Team* found = e.teams.find(handle);
        if (!found || found->complete()) return CUDA_SUCCESS;
        Facts facts = e.facts();
        add_facts(e, call, facts);
        Violations violations = check(e.model, call, facts);
        violations.erase_if([](const Violation& v) { return v.rule == Rule::kMcAllAdded; });
        if (e.profile.answer(CallStruct::kEntryPoint, violations) != CUDA_SUCCESS) {
          return CUDA_SUCCESS;
        }
        team = e.teams.share(handle);
        timeout = e.multicast_timeout();
        return CUDA_SUCCESS;
      },
      CallStruct::kEntryPoint);
  if (team) team->wait(timeout);
}

void find_team(const Emulator& e, Handle handle, Facts::Multicast& multicast) {
  const Team* team = e.teams.find(handle);
  if (!team) return;
  const Team::Members members = team->members();
  multicast.team = members.visible;
  multicast.hidden = members.hidden;
}

CUresult bind(Emulator& e, const MulticastBind& call) {
  Team* team = e.teams.find(call.object);
  if (!team) return CUDA_ERROR_INVALID_VALUE;
  if (!team->complete()) return CUDA_ERROR_SYSTEM_NOT_READY;
  const auto [handle, offset] = e.model.memory_of(call);
  Physical* memory = e.physical.find(handle);
  if (!memory || e.teams.contains(handle)) return CUDA_ERROR_INVALID_VALUE;
  const int device = e.model.device_of(call);
  if (!e.valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (call.size == 0 || offset > memory->size() || call.size > memory->size() - offset ||
      call.offset > team->size() || call.size > team->size() - call.offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (e.outage() == Outage::kFabricLost) return CUDA_ERROR_ILLEGAL_STATE;
  if (e.outage() == Outage::kGroups) return CUDA_ERROR_OUT_OF_MEMORY;
  if (e.outage() == Outage::kRankKilled &&
      g_visible.of_machine(device) == e.machine_devices() - 1) {
    raise(SIGKILL);
  }
  const int fd = memory->descriptor();
  if (fd < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  const Size granularity = e.profile.multicast_granularity_minimum;
  const bool middle = granularity != 0 && offset % granularity != 0;
  if (middle && team->unaligned() >= e.profile.multicast_unaligned_binds) {
    return kErrorMulticastResourceFull;
  }
  return team->bind(device, call.offset, call.size, {fd, offset, middle ? granularity : 0});
}

CUmemAllocationProp placeholder() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  return prop;
}

}  // namespace

Handle adopt(Emulator& e, std::shared_ptr<Team> team) {
  // No call touches this memory; it makes a multicast handle an ordinary handle.
  const Handle handle = e.physical.add(team->size(), placeholder(), false, 0, nullptr);
  e.teams.add(handle, std::move(team));
  return handle;
}

void record_import(Emulator& e, Handle handle) {
  const Team& team = *e.teams.find(handle);
  MulticastObject known;
  known.handle = handle;
  known.team = team.devices();
  known.size = team.size();
  known.granularity = e.profile.multicast_granularity_minimum;
  known.recommended = e.profile.multicast_granularity_recommended;
  e.model.import_multicast(std::move(known), Origin{});
}

void end_bindings(Emulator& e, const Retired& retired) {
  if (!retired.rare) return;
  for (const auto& [object, binding] : retired.rare->multicast.bindings) {
    if (Team* team = e.teams.find(object)) team->unbind(binding.device, binding.offset);
  }
}

// --- What is asked of a call before it is checked

void add_facts(const Emulator& e, const calls::MulticastCreate&, Facts& facts) {
  facts.multicast.granularity = e.profile.multicast_granularity_minimum;
  facts.multicast.recommended = e.profile.multicast_granularity_recommended;
}

void add_facts(const Emulator& e, const calls::MemMap& call, Facts& facts) {
  if (!e.teams.empty()) find_team(e, call.handle, facts.multicast);
}

void add_facts(const Emulator& e, const calls::MemSetAccess& call, Facts& facts) {
  if (e.teams.empty()) return;
  // In a range of several objects, up to the first hole: the devices that are in all of them.
  Address next = call.ptr;
  for (auto at = e.model.first_mapping_after(call.ptr);
       at != e.model.mappings().end() && at->first <= next &&
       (at->first < call.ptr || at->first - call.ptr < call.size);
       ++at) {
    next = at->first + at->second.size;
    const Team* team = e.teams.find(at->second.handle);
    if (team)
      facts.multicast.team =
          facts.multicast.team.value_or(~std::uint64_t{0}) & team->members().visible;
  }
}

#define CUVMM_TEAM_FACTS(Name)                                               \
  void add_facts(const Emulator& e, const calls::Name& call, Facts& facts) { \
    find_team(e, call.mcHandle, facts.multicast);                            \
  }
CUVMM_TEAM_FACTS(MulticastAddDevice)
CUVMM_TEAM_FACTS(MulticastBindMem)
CUVMM_TEAM_FACTS(MulticastBindAddr)
CUVMM_TEAM_FACTS(MulticastBindMem_v2)
CUVMM_TEAM_FACTS(MulticastBindAddr_v2)
CUVMM_TEAM_FACTS(MulticastUnbind)
#undef CUVMM_TEAM_FACTS

// --- Waiting

void wait_for_others(const calls::MulticastBindMem& call) { wait_for_team(call.mcHandle, call); }
void wait_for_others(const calls::MulticastBindAddr& call) { wait_for_team(call.mcHandle, call); }
void wait_for_others(const calls::MulticastBindMem_v2& call) { wait_for_team(call.mcHandle, call); }
void wait_for_others(const calls::MulticastBindAddr_v2& call) {
  wait_for_team(call.mcHandle, call);
}
void wait_for_others(const calls::MemMap& call) {
  // A single look, for programs that use no multicast.
  if (!Emulator::get().teams.ever()) return;
  wait_for_team(call.handle, call);
}

// --- The calls

CUresult perform(Emulator& e, const calls::MulticastCreate& call, const Facts&, const Retired&) {
  if (!call.mcHandle || !call.prop || call.prop->size == 0 || call.prop->numDevices == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (e.lacks(call.prop->handleTypes)) return CUDA_ERROR_NOT_SUPPORTED;
  auto team = Team::create(call.prop->numDevices, call.prop->size);
  if (!team) return CUDA_ERROR_OUT_OF_MEMORY;
  *call.mcHandle = adopt(e, std::move(team));
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::MulticastAddDevice& call, const Facts&, const Retired&) {
  Team* team = e.teams.find(call.mcHandle);
  if (!team) return CUDA_ERROR_INVALID_VALUE;
  if (!e.valid_device(call.dev)) return CUDA_ERROR_INVALID_DEVICE;
  if (e.outage() == Outage::kFabricLost) return CUDA_ERROR_ILLEGAL_STATE;
  return team->add(call.dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult perform(Emulator& e, const calls::MulticastBindMem& call, const Facts&, const Retired&) {
  return bind(e, bind_of(call));
}

CUresult perform(Emulator& e, const calls::MulticastBindAddr& call, const Facts&, const Retired&) {
  return bind(e, bind_of(call));
}

CUresult perform(Emulator& e, const calls::MulticastBindMem_v2& call, const Facts&,
                 const Retired&) {
  return bind(e, bind_of(call));
}

CUresult perform(Emulator& e, const calls::MulticastBindAddr_v2& call, const Facts&,
                 const Retired&) {
  return bind(e, bind_of(call));
}

CUresult perform(Emulator& e, const calls::MulticastUnbind& call, const Facts&, const Retired&) {
  Team* team = e.teams.find(call.mcHandle);
  return team && team->unbind(call.dev, call.mcOffset) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult perform(Emulator& e, const calls::MulticastGetGranularity& call, const Facts&,
                 const Retired&) {
  if (!call.granularity || !call.prop) return CUDA_ERROR_INVALID_VALUE;
  *call.granularity = call.option == CU_MULTICAST_GRANULARITY_RECOMMENDED
                          ? e.profile.multicast_granularity_recommended
                          : e.profile.multicast_granularity_minimum;
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
