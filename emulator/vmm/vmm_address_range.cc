// SPDX-License-Identifier: Apache-2.0
// cuMemAddressReserve and cuMemAddressFree.
#include <algorithm>

#include "emulator/vmm/vmm_entry.h"

namespace cuvmm::emulator {

CUresult perform(Emulator& e, const calls::MemAddressReserve& call, const Facts&, const Retired&) {
  if (!call.ptr || call.size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (call.alignment & (call.alignment - 1)) return CUDA_ERROR_INVALID_VALUE;
  // An address above user space is no hint (measured: reserve/hint-kernel), and neither is an
  // address so near below it that the range does not fit (hints from 2 MiB to 80 MiB below it, of
  // 2, 6 and 128 MiB).
  constexpr Address kUserEnd = Address{1} << 47, kStep = Address{32} << 20;
  const auto stepped = [](Address at) { return (at + kStep - 1) / kStep * kStep; };
  if (call.addr >= kUserEnd ||
      (call.addr && stepped(call.addr) + stepped(std::min(call.size, kUserEnd)) >= kUserEnd))
    return CUDA_ERROR_OUT_OF_MEMORY;
  const auto base = e.space.take(call.size, call.alignment, call.addr);
  if (!base) return CUDA_ERROR_OUT_OF_MEMORY;
  *call.ptr = *base;
  return CUDA_SUCCESS;
}

CUresult perform(Emulator& e, const calls::MemAddressFree& call, const Facts&,
                 const Retired& retired) {
  if (retired.reservations.size() != 1) return CUDA_ERROR_INVALID_VALUE;
  e.space.give_back(call.ptr, call.size);
  return CUDA_SUCCESS;
}

}  // namespace cuvmm::emulator
