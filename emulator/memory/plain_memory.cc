// SPDX-License-Identifier: Apache-2.0
// Device memory of cuMemAlloc and its kin.
#include "emulator/context/captured.h"
#include "emulator/entry/base.h"
#include "emulator/entry/export.h"
#include "emulator/entry/locked.h"
#include "emulator/memory/memory_entry.h"

namespace cuvmm::emulator {

namespace {

CUresult allocate(CUdeviceptr* out, std::size_t size) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    if (!out || size == 0) return CUDA_ERROR_INVALID_VALUE;
    Address address = 0;
    const CUresult result = e.allocate_plain(context, size, &address);
    if (result == CUDA_SUCCESS) *out = address;
    return result;
  });
}

// `by_pool`: what cuMemFree frees, a pool goes on counting as used (recorded).
CUresult free_plain(Emulator& e, Address address, bool by_pool) {
  if (address == 0) return CUDA_SUCCESS;
  const PlainAllocation* found = e.plain.find(address);
  // Memory of another process is closed, not freed.
  if (!found || found->opens != 0) return CUDA_ERROR_INVALID_VALUE;
  e.pools.freed(found->pool, found->size, by_pool);
  e.plain.end(address);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult run_base(const calls::MemAlloc& call) noexcept {
  return allocate(call.dptr, call.bytesize);
}

CUresult perform(Emulator& e, const calls::MemFree& call, const Facts&, const Retired&) {
  return free_plain(e, call.dptr, false);
}

void forgive(const Emulator& e, const calls::MemFree& call, Violations& violations) {
  // The address of a freed buffer, or of opened memory whose context has ended, may be plain
  // memory's by now, which the model does not follow.
  const PlainAllocation* plain = e.plain.at(call.dptr);
  if (!plain) return;
  violations.erase_if([&](const Violation& v) {
    return v.rule == Rule::kExtBufferFreedOnce ||
           (v.rule == Rule::kIpcFreeInstead && plain->opens == 0);
  });
}

CUresult perform(Emulator& e, const calls::MemFreeAsync& call, const Facts&, const Retired&) {
  if (!Streams::is_default(call.hStream) && !e.streams.find(call.hStream)) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (Streams::is_default(call.hStream) && !e.current_context()) return CUDA_ERROR_INVALID_CONTEXT;
  return free_plain(e, call.dptr, true);
}

CUVMM_DRIVER_FUNCTION(cuMemAllocPitch_v2, CUdeviceptr* address, size_t* pitch, size_t width,
                      size_t height, unsigned element) {
  if (const CUresult refused = refuse_unsafe_in_capture(); refused != CUDA_SUCCESS) {
    return refused;
  }
  if (ended()) return CUDA_ERROR_DEINITIALIZED;
  constexpr std::size_t kPitch = 512;  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT
  const CUresult usable = with_context([](Emulator&, Context&) { return CUDA_SUCCESS; });
  if (usable != CUDA_SUCCESS) return usable;
  if (!pitch || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
  // A driver lets both overflow: what becomes 0 is invalid, all else too large (recorded).
  const std::size_t row = (width + kPitch - 1) / kPitch * kPitch;
  const CUresult result = allocate(address, row * height);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUresult run_base(const calls::MemGetInfo& call) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    if (!call.free || !call.total) return CUDA_ERROR_INVALID_VALUE;
    e.physical.drop_unheld();
    *call.free = e.devices.free(context.device);
    *call.total = e.devices.total(context.device);
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
