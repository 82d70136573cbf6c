// SPDX-License-Identifier: Apache-2.0
// Batches of prefetches and discards of managed memory, since CUDA 13.0. The answers are the
// documented ones; none was measured. Discarded memory keeps its bytes here, which the
// documentation permits.
#include "emulator/memory/managed_entry.h"
#include "emulator/transfer/operations_entry.h"

namespace cuvmm::emulator {

namespace {

struct Ranges {
  const CUdeviceptr* addresses;
  const std::size_t* sizes;
  std::size_t count;
};

/// The destinations: locations[k] is for the ranges from first[k] up to before first[k + 1].
struct Targets {
  const CUmemLocation* locations;
  const std::size_t* first;
  std::size_t count;
};

CUresult check(const Emulator& e, const Ranges& ranges) {
  if (!ranges.addresses || !ranges.sizes || ranges.count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < ranges.count; ++i) {
    if (!movable(e, ranges.addresses[i], ranges.sizes[i])) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult check(const Emulator& e, const Targets& to) {
  if (!to.locations || !to.first || to.count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t k = 0; k < to.count; ++k) {
    const CUresult valid = check_location(e, to.locations[k]);
    if (valid != CUDA_SUCCESS) return valid;
  }
  return CUDA_SUCCESS;
}

// Nothing is done unless the whole batch is valid. `to`: null for a batch without prefetches.
CUresult run(Emulator& e, const Ranges& ranges, const Targets* to, CUstream stream) {
  CUresult result = check_stream(e, stream);
  if (result == CUDA_SUCCESS && Streams::is_default(stream) && !e.current_context()) {
    return e.no_context();
  }
  if (result == CUDA_SUCCESS) result = check(e, ranges);
  if (result == CUDA_SUCCESS && to) result = check(e, *to);
  if (result != CUDA_SUCCESS || !to) return result;
  for (std::size_t i = 0, k = 0; i < ranges.count; ++i) {
    if (k + 1 < to->count && to->first[k + 1] == i) ++k;
    ManagedAdvice* managed = managed_at(e, ranges.addresses[i], ranges.sizes[i]);
    if (managed) managed->prefetched = place(to->locations[k]);
  }
  return CUDA_SUCCESS;
}

template <class CallStruct>
CUresult prefetch(Emulator& e, const CallStruct& call) {
  const Targets to{call.prefetchLocs, call.prefetchLocIdxs, call.numPrefetchLocs};
  return run(e, {call.dptrs, call.sizes, call.count}, &to, call.hStream);
}

}  // namespace

CUresult perform(Emulator& e, const calls::MemPrefetchBatchAsync& call, const Facts&,
                 const Retired&) {
  return prefetch(e, call);
}
// Discards have no effect, so this is a batch of prefetches.
CUresult perform(Emulator& e, const calls::MemDiscardAndPrefetchBatchAsync& call, const Facts&,
                 const Retired&) {
  return prefetch(e, call);
}
CUresult perform(Emulator& e, const calls::MemDiscardBatchAsync& call, const Facts&,
                 const Retired&) {
  return run(e, {call.dptrs, call.sizes, call.count}, nullptr, call.hStream);
}

}  // namespace cuvmm::emulator
