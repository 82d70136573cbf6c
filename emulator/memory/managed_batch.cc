// SPDX-License-Identifier: Apache-2.0
// Batches of prefetches and discards of managed memory, since CUDA 13.0. None was measured: the
// answers are the documented ones. What is discarded keeps its bytes here; any would do.
#include "emulator/entry/export.h"
#include "emulator/memory/managed_entry.h"

namespace cuvmm::emulator {

namespace {

struct Ranges {
  const CUdeviceptr* addresses;
  const std::size_t* sizes;
  std::size_t count;
};

/// Where to: locations[k] is for the ranges from first[k] up to before first[k + 1].
struct Targets {
  const CUmemLocation* locations;
  const std::size_t* first;
  std::size_t count;
};

CUresult check(const Emulator& e, const Ranges& ranges) {
  if (!ranges.addresses || !ranges.sizes || ranges.count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < ranges.count; ++i) {
    if (!managed_at(e, ranges.addresses[i], ranges.sizes[i])) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult check(const Emulator& e, const Targets& to, std::size_t ranges) {
  if (!to.locations || !to.first || to.count == 0 || to.count > ranges || to.first[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t k = 0; k < to.count; ++k) {
    if (to.first[k] >= ranges || (k > 0 && to.first[k] <= to.first[k - 1])) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult valid = check_location(e, to.locations[k]);
    if (valid != CUDA_SUCCESS) return valid;
  }
  return CUDA_SUCCESS;
}

// Nothing is done unless all of it is valid. `to`: null where nothing is prefetched.
CUresult run(const Ranges& ranges, const Targets* to, unsigned long long flags,
             CUstream stream) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    // The documentation refuses the legacy default stream, by either name.
    if (!stream || stream == CU_STREAM_LEGACY || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_stream(e, stream);
    if (result == CUDA_SUCCESS && Streams::is_default(stream) && !e.current_context()) {
      return e.no_context();
    }
    if (result == CUDA_SUCCESS) result = check(e, ranges);
    if (result == CUDA_SUCCESS && to) result = check(e, *to, ranges.count);
    if (result != CUDA_SUCCESS || !to) return result;
    for (std::size_t i = 0, k = 0; i < ranges.count; ++i) {
      if (k + 1 < to->count && to->first[k + 1] == i) ++k;
      managed_at(e, ranges.addresses[i], ranges.sizes[i])->prefetched = place(to->locations[k]);
    }
    return CUDA_SUCCESS;
  });
}

// Where the default stream is each thread's own.
CUstream per_thread(CUstream stream) { return stream ? stream : CU_STREAM_PER_THREAD; }

CUresult prefetch(CUdeviceptr* addresses, size_t* sizes, size_t count, CUmemLocation* locations,
                  size_t* first, size_t number, unsigned long long flags,
                  CUstream stream) noexcept {
  const Targets to{locations, first, number};
  return run({addresses, sizes, count}, &to, flags, stream);
}

}  // namespace

CUVMM_DRIVER_FUNCTION(cuMemPrefetchBatchAsync, CUdeviceptr* addresses, size_t* sizes, size_t count,
                      CUmemLocation* locations, size_t* first, size_t number,
                      unsigned long long flags, CUstream stream) {
  return prefetch(addresses, sizes, count, locations, first, number, flags, stream);
}
CUVMM_DRIVER_FUNCTION(cuMemPrefetchBatchAsync_ptsz, CUdeviceptr* addresses, size_t* sizes,
                      size_t count, CUmemLocation* locations, size_t* first, size_t number,
                      unsigned long long flags, CUstream stream) {
  return prefetch(addresses, sizes, count, locations, first, number, flags, per_thread(stream));
}
// What is discarded is not followed, so this is the same.
CUVMM_DRIVER_ALIAS(cuMemDiscardAndPrefetchBatchAsync, cuMemPrefetchBatchAsync);
CUVMM_DRIVER_ALIAS(cuMemDiscardAndPrefetchBatchAsync_ptsz, cuMemPrefetchBatchAsync_ptsz);

CUVMM_DRIVER_FUNCTION(cuMemDiscardBatchAsync, CUdeviceptr* addresses, size_t* sizes, size_t count,
                      unsigned long long flags, CUstream stream) {
  return run({addresses, sizes, count}, nullptr, flags, stream);
}
CUVMM_DRIVER_FUNCTION(cuMemDiscardBatchAsync_ptsz, CUdeviceptr* addresses, size_t* sizes,
                      size_t count, unsigned long long flags, CUstream stream) {
  return run({addresses, sizes, count}, nullptr, flags, per_thread(stream));
}

}  // namespace cuvmm::emulator
