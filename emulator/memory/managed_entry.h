// SPDX-License-Identifier: Apache-2.0
// What the calls about managed memory share: which memory, which place, which stream.
#pragma once

#include "api/location.h"
#include "emulator/entry/locked.h"

namespace cuvmm::emulator {
/// The managed allocation that holds the whole range, or null.
inline ManagedAdvice* managed_at(const Emulator& e, Address address, Size size) {
  const PlainAllocation* plain = e.plain.at(address);
  if (!plain || !plain->managed || size == 0) return nullptr;
  return size <= plain->size - (address - plain->base) ? plain->managed.get() : nullptr;
}

/// Whether memory can be wanted there: INVALID_DEVICE for a device that does not exist,
/// INVALID_VALUE for what is no device and not the host.
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
                                                               : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace cuvmm::emulator
