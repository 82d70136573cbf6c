// SPDX-License-Identifier: Apache-2.0
// cuMemSetAccess and cuMemGetAccess.
#include <sys/mman.h>

#include "api/location.h"
#include "emulator/vmm/vmm_entry.h"

namespace cuvmm::emulator {
namespace {

// Maps host memory at its device address, so that the CPU reaches it, or removes that mapping.
bool show_to_cpu(Emulator& e, const Mapping& mapping, unsigned flags) {
  if (!e.space.owns(mapping.base, mapping.size)) return true;
  const int protection = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_READ | PROT_WRITE
                         : flags == CU_MEM_ACCESS_FLAGS_PROT_READ    ? PROT_READ
                                                                     : PROT_NONE;
  if (protection == PROT_NONE) {
    e.cpu_view.hide(mapping);
    return true;
  }
  Physical* memory = e.physical.find(mapping.handle);
  if (!memory || e.teams.contains(mapping.handle)) return false;
  return e.cpu_view.show(mapping, *memory, protection);
}

}  // namespace

CUresult perform(Emulator& e, const calls::MemSetAccess& call, const Facts&, const Retired&) {
  if (!call.desc) return CUDA_ERROR_INVALID_VALUE;
  const Size size = affected(e, call);
  for (std::size_t i = 0; i < call.count; ++i) {
    if (!is_host(call.desc[i].location)) continue;
    const auto end = e.model.mappings().end();
    for (auto at = e.model.first_mapping_after(call.ptr);
         at != end && (at->first < call.ptr || at->first - call.ptr < size); ++at) {
      if (!show_to_cpu(e, at->second, static_cast<unsigned>(call.desc[i].flags))) {
        return CUDA_ERROR_OUT_OF_MEMORY;
      }
    }
  }
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::MemGetAccess& call, const Facts&, const Retired&) {
  if (!call.flags || !call.location) return CUDA_ERROR_INVALID_VALUE;
  *call.flags = 0;
  const Mapping* mapping = e.model.mapping_at(call.ptr);
  if (!mapping) return CUDA_SUCCESS;  // the profile accepts the call: no access there
  std::uint64_t bit = AccessMask::kHostBit;
  if (is_device(*call.location)) {
    const int device = device_of(*call.location);
    if (!e.valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    bit = std::uint64_t{1} << device;
  } else if (call.location->type == CU_MEM_LOCATION_TYPE_HOST) {
    // Measured, though it makes no sense: for HOST, not for HOST_NUMA, the answer may be device 0's
    // access (observation getaccess/loc-host; recorded calls).
    bit = mapping->access.host_answer_bit();
  }
  if (mapping->access.write & bit) {
    *call.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  } else if (mapping->access.read & bit) {
    *call.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  }
  return CUDA_SUCCESS;
}

void forgive(const Emulator& e, const calls::MemGetAccess& call, Violations& violations) {
  // The driver knows memory of cuMemAlloc, and memory of the host, whose access does not come from
  // cuMemSetAccess (observation access/cuMemAlloc-ptr).
  if (!e.plain.at(call.ptr) && !e.host.at(call.ptr)) return;
  violations.erase_if([](const Violation& v) { return v.rule == Rule::kGetAccessMapped; });
}

void write_refused(const Emulator&, const calls::MemGetAccess& call, CUresult refused) {
  // The driver looks the address up before it refuses, and writes "none" (observation
  // getaccess/reserved-only); it does not write where the arguments themselves are invalid.
  if (refused == CUDA_ERROR_INVALID_VALUE && call.flags && call.location && call.ptr) {
    *call.flags = 0;
  }
}

}  // namespace cuvmm::emulator
