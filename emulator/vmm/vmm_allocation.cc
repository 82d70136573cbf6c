// SPDX-License-Identifier: Apache-2.0
// cuMemCreate, cuMemRelease, cuMemRetainAllocationHandle and the queries of an allocation.
#include <unistd.h>

#include "api/location.h"
#include "emulator/hostile/hostile_driver.h"
#include "emulator/vmm/vmm_entry.h"

namespace cuvmm::emulator {

namespace {

bool on_host(const CUmemAllocationProp& prop) {
  return prop.location.type == CU_MEM_LOCATION_TYPE_HOST ||
         prop.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         prop.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

Size minimum_granularity(const Profile& profile, const CUmemAllocationProp& prop) {
  return on_host(prop) ? profile.host_granularity_minimum : profile.device_granularity_minimum;
}

// Properties as the driver reports them.
CUmemAllocationProp reported(const Profile& profile, CUmemAllocationProp prop) {
  if (!profile.has(Quirk::kPropertiesNormalised)) return prop;
  if (prop.location.type == CU_MEM_LOCATION_TYPE_HOST) {
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  }
  constexpr unsigned kKnown = 1 | 2 | 4 | 8;
  prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(
      static_cast<unsigned>(prop.requestedHandleTypes) & kKnown);
  return prop;
}

// Bytes of this machine's own memory, which bound memory on the host.
std::uint64_t host_memory() {
  static const std::uint64_t bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                                     static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

void add_facts(const Emulator& e, const calls::MemCreate& call, Facts& facts) {
  if (!call.prop) return;
  facts.unicast.granularity = minimum_granularity(e.profile, *call.prop);
  const int device = device_of(call.prop->location);
  if (e.valid_device(device)) {
    if (call.size > e.devices.free(device)) e.physical.drop_unheld();
    facts.unicast.free_memory = e.devices.free(device);
  } else if (on_host(*call.prop)) {
    facts.unicast.free_memory = host_memory();
  }
}

CUresult perform(Emulator& e, const calls::MemCreate& call, const Facts&, const Retired&) {
  if (!call.handle || !call.prop || call.size == 0) return CUDA_ERROR_INVALID_VALUE;
  CUmemAllocationProp prop = *call.prop;
  if (e.lacks(prop.requestedHandleTypes)) return CUDA_ERROR_NOT_SUPPORTED;
  prop.location = settled(prop.location, e.model.platform());
  std::uint64_t* account = nullptr;
  if (is_device(prop.location)) {
    const int device = device_of(prop.location);
    if (!e.valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (call.size > e.free_memory(device)) return CUDA_ERROR_OUT_OF_MEMORY;
    account = e.devices.account(device);
  } else if (!on_host(prop)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool shared =
      on_host(prop) || (static_cast<unsigned>(prop.requestedHandleTypes) &
                        static_cast<unsigned>(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)) != 0;
  *call.handle = e.physical.add(call.size, prop, shared, call.size, account);
  if (hostile_driver().poison) e.physical.find(*call.handle)->poison();
  return CUDA_SUCCESS;
}

CUresult perform(Emulator&, const calls::MemRelease&, const Facts&, const Retired& retired) {
  return retired.released ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult perform(Emulator& e, const calls::MemRetainAllocationHandle& call, const Facts&,
                 const Retired&) {
  const Mapping* mapping = e.model.mapping_at(reinterpret_cast<Address>(call.addr));
  if (!call.handle || !mapping) return CUDA_ERROR_INVALID_VALUE;
  *call.handle = mapping->handle;
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::MemGetAllocationPropertiesFromHandle& call, const Facts&,
                 const Retired&) {
  if (!call.prop) return CUDA_ERROR_INVALID_VALUE;
  // A multicast object is not memory.
  if (e.teams.contains(call.handle)) return CUDA_ERROR_NOT_SUPPORTED;
  if (const Physical* found = e.physical.find(call.handle)) {
    *call.prop = reported(e.profile, found->prop());
    return CUDA_SUCCESS;
  }
  // Drivers read the memory that they just freed, and find the properties unchanged (observation
  // props/released).
  const auto stale = e.physical.stale_prop(call.handle);
  if (!stale) return CUDA_ERROR_INVALID_VALUE;
  *call.prop = reported(e.profile, *stale);
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::MemGetAllocationGranularity& call, const Facts&,
                 const Retired&) {
  if (!call.granularity || !call.prop) return CUDA_ERROR_INVALID_VALUE;
  const bool recommended = call.option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED;
  const Profile& p = e.profile;
  if (on_host(*call.prop)) {
    *call.granularity = recommended ? p.host_granularity_recommended : p.host_granularity_minimum;
  } else {
    *call.granularity =
        recommended ? p.device_granularity_recommended : p.device_granularity_minimum;
  }
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
