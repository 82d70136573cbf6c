// cuMemAddressReserve and cuMemAddressFree.
#include "emulator/entry.h"

namespace cuvmm::emulator {

CUresult perform(Emulator& e, const calls::MemAddressReserve& call, const Facts&, const Retired&) {
  if (!call.ptr || call.size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (call.alignment & (call.alignment - 1)) return CUDA_ERROR_INVALID_VALUE;
  // No address above user space is a hint at anything (measured: reserve/hint-kernel).
  constexpr Address kUserEnd = Address{1} << 47;
  if (call.addr >= kUserEnd) return CUDA_ERROR_OUT_OF_MEMORY;
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
