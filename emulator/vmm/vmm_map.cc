// SPDX-License-Identifier: Apache-2.0
// cuMemMap and cuMemUnmap.
#include "emulator/vmm/vmm_entry.h"

namespace cuvmm::emulator {

namespace {

// Whether a mapping would overlap memory that the model does not know: memory of cuMemAlloc, or the
// driver's own. Only a mapping that leaves its reservation can.
bool hits_foreign(const Emulator& e, Address base, Size size) {
  const Reservation* reservation = e.model.reservation_at(base);
  if (reservation && size <= reservation->size - (base - reservation->base)) return false;
  return e.plain.at(base) || e.space.reserved_by_driver(base, size) ||
         e.plain.begins_behind(base, size);
}

}  // namespace

CUresult perform(Emulator& e, const calls::MemMap& call, const Facts&, const Retired&) {
  const Physical* memory = e.physical.find(call.handle);
  if (!memory || !e.model.reservation_at(call.ptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Holds even if a profile accepts the call: a mapping shows an allocation from its start, and no
  // byte after its end.
  const Team* team = e.teams.find(call.handle);
  if (call.offset != 0 && !team) return CUDA_ERROR_NOT_SUPPORTED;
  if (call.size == 0 || call.offset > memory->size() || call.size > memory->size() - call.offset) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (team && !team->complete()) return CUDA_ERROR_SYSTEM_NOT_READY;
  return hits_foreign(e, call.ptr, call.size) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::MemUnmap&, const Facts&, const Retired& retired) {
  if (e.cpu_view.empty()) return CUDA_SUCCESS;
  for (const Mapping& mapping : retired.mappings) e.cpu_view.hide(mapping);
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
