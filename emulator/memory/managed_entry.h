// SPDX-License-Identifier: Apache-2.0
// The checks that calls about managed memory share: of memory, place and stream.
#pragma once

#include "api/location.h"
#include "emulator/core/locked.h"
#include "emulator/machine/device_attributes.h"

namespace cuvmm::emulator {
/// The managed allocation that holds the whole range, or null.
inline ManagedAdvice* managed_at(const Emulator& e, Address address, Size size) {
  const PlainAllocation* plain = e.plain.at(address);
  if (!plain || !plain->managed || size == 0) return nullptr;
  return size <= plain->size - (address - plain->base) ? plain->managed.get() : nullptr;
}

/// Whether the range can be advised and moved: managed memory, or pageable memory of the system
/// where devices read that. The rules have judged memory that is mapped by hand or belongs to a
/// pool: a profile that accepts the call leaves that memory where it is. The rules know too little
/// of imported and destroyed pools.
inline bool movable(const Emulator& e, Address address, Size size) {
  if (managed_at(e, address, size)) return true;
  if (address == 0 || size == 0) return false;
  if (e.model.reservation_at(address)) return true;
  if (const PlainAllocation* plain = e.plain.at(address)) {
    if (plain->pool == 0 || plain->managed) return false;
    const auto pool = reinterpret_cast<CUmemoryPool>(plain->pool);
    if (plain->imported || !e.pools.find(pool)) return false;
    const Verdict& verdict =
        e.profile.verdict(EntryPoint::kMemPrefetchAsync_v2, Rule::kManagedOnly);
    return verdict.kind == Verdict::Kind::kAccepts;
  }
  if (e.host.at(address) || e.space.owns(address, 1)) return false;
  constexpr int kPageable = CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS;
  const auto reads = e.profile.attribute(kPageable, e.device_count());
  return reads.value_or(default_attribute(kPageable).value_or(0)) != 0;
}

/// Whether memory can be moved to a location: INVALID_DEVICE for a device that does not exist,
/// INVALID_VALUE for a location that is neither a device nor the host.
inline CUresult check_location(const Emulator& e, const CUmemLocation& location) {
  const int type = static_cast<int>(location.type);
  if (type == kLocationDevice)
    return e.valid_device(location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  return type >= kLocationHost && type <= kLocationHostNumaCurrent ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_INVALID_VALUE;
}

inline ManagedPlace place(const CUmemLocation& location) {
  return {static_cast<int>(location.type), location.id};
}

inline CUresult check_stream(const Emulator& e, CUstream stream) {
  return Streams::is_default(stream) || e.streams.find(stream) ? CUDA_SUCCESS
                                                               : e.streams.no_stream(stream);
}

}  // namespace cuvmm::emulator
