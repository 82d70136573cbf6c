// SPDX-License-Identifier: Apache-2.0
// Device memory of cuMemAlloc and related calls.
#include <utility>

#include "emulator/capture/captured.h"
#include "emulator/core/base_entry.h"
#include "emulator/core/export.h"
#include "emulator/core/locked.h"
#include "emulator/core/work.h"
#include "emulator/memory/memory_entry.h"

namespace cuvmm::emulator {

namespace {

CUresult allocate(Emulator& e, CUdeviceptr* out, std::size_t size) {
  Context* const context = e.current_context();
  if (!context) return e.no_context();
  if (!out || size == 0) return CUDA_ERROR_INVALID_VALUE;
  Address address = 0;
  const CUresult result = e.allocate_plain(*context, size, &address);
  if (result == CUDA_SUCCESS) *out = address;
  return result;
}

bool of_free(Rule rule) {
  return rule == Rule::kFreeKnown || rule == Rule::kFreeOnce || rule == Rule::kFreeBase ||
         rule == Rule::kFreeFunction;
}

// `by_pool`: cuMemFreeAsync frees the memory. A pool continues to count memory that cuMemFree freed
// as used (recorded).
CUresult free_plain(Emulator& e, Address address, bool by_pool) {
  if (address == 0) return CUDA_SUCCESS;
  const PlainAllocation* found = e.plain.find(address);
  // A program closes memory of another process and does not free it.
  if (!found || found->opens != 0 || found->of_module) return CUDA_ERROR_INVALID_VALUE;
  // No pool counts the memory of graphs (recorded).
  if (!found->of_graph) e.pools.freed(found->pool, found->size, by_pool);
  e.plain.end(address);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult perform(Emulator& e, const calls::MemAlloc& call, const Facts&, const Retired&) {
  return allocate(e, call.dptr, call.bytesize);
}

CUresult perform(Emulator& e, const calls::MemFree& call, const Facts&, const Retired&) {
  return free_plain(e, call.dptr, false);
}

void forgive(const Emulator& e, const calls::MemFree& call, Violations& violations) {
  // The address of a freed buffer, or of opened memory whose context has ended, may belong to other
  // memory by now. The model does not follow the memory of graphs.
  const PlainAllocation* plain = e.plain.at(call.dptr);
  if (!plain || plain->ending || plain->of_module) return;
  violations.erase_if([&](const Violation& v) {
    return v.rule == Rule::kExtBufferFreedOnce ||
           (plain->opens == 0 &&
            (v.rule == Rule::kIpcFreeInstead || (plain->base == call.dptr && of_free(v.rule))));
  });
}

void forgive(const Emulator& e, const calls::MemFreeAsync& call, Violations& violations) {
  const PlainAllocation* plain = e.plain.at(call.dptr);
  if (!plain || plain->opens != 0 || plain->base != call.dptr || plain->ending || plain->of_module)
    return;
  violations.erase_if([](const Violation& v) { return of_free(v.rule); });
}

namespace {

// Runs when a stream reaches a free. A later launch that allocates the memory again may be queued
// already, and calls after that launch may name the memory already.
CUresult free_in_order(Emulator& e, Address address) {
  PlainAllocation* const found = e.plain.find(address);
  if (!found || found->again == 0) return free_plain(e, address, true);
  --found->again;
  found->coming = true;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult perform(Emulator& e, const calls::MemFreeAsync& call, const Facts&, const Retired&) {
  if (!Streams::is_default(call.hStream) && !e.streams.find(call.hStream)) {
    return e.streams.no_stream(call.hStream);
  }
  if (Streams::is_default(call.hStream) && !e.current_context()) return CUDA_ERROR_INVALID_CONTEXT;
  PlainAllocation* const found = e.plain.find(call.dptr);
  if (!found || found->opens != 0 || found->of_module || !Queues::late())
    return free_plain(e, call.dptr, true);
  if (std::exchange(found->ending, true)) return CUDA_ERROR_INVALID_VALUE;
  const Address address = call.dptr;
  const CUresult result =
      submit(e, call.hStream, [address](Emulator& at) { return free_in_order(at, address); });
  if (result != CUDA_SUCCESS) found->ending = false;
  return result;
}

CUresult perform(Emulator& e, const calls::MemAllocPitch& call, const Facts&, const Retired&) {
  constexpr std::size_t kPitch = 512;  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT
  if (!call.pPitch) return CUDA_ERROR_INVALID_VALUE;
  // A driver lets both products overflow: a size that becomes 0 is invalid, any other is too large
  // (recorded).
  const std::size_t row = (call.WidthInBytes + kPitch - 1) / kPitch * kPitch;
  const CUresult result = allocate(e, call.dptr, row * call.Height);
  if (result == CUDA_SUCCESS) *call.pPitch = row;
  return result;
}

CUresult run_base(const calls::MemGetInfo& call) noexcept {
  return with_context([&](Emulator& e, Context& context) -> CUresult {
    if (!call.free || !call.total) return CUDA_ERROR_INVALID_VALUE;
    e.physical.drop_unheld();
    *call.free = e.free_memory(context.device);
    *call.total = e.devices.total(context.device);
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
