// SPDX-License-Identifier: Apache-2.0
// cuMemcpyBatchAsync: any number of copies, each as cuMemcpyAsync would do it. What an H200
// refuses, and in which order it looks, was recorded (fuzz/plain).
#include "emulator/transfer/batch_copy.h"

#if CUDA_VERSION >= 13000
#include "emulator/transfer/transfer_entry.h"

namespace cuvmm::emulator {

namespace {

// A hint names a device that there is; ids of the host's places are not looked at.
bool sound(const Emulator& e, const CUmemLocation& hint) {
  return hint.type != CU_MEM_LOCATION_TYPE_DEVICE || e.valid_device(hint.id);
}

bool sound(const Emulator& e, const CUmemcpyAttributes& attributes) {
  const auto order = attributes.srcAccessOrder;
  return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY &&
         attributes.flags <= CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE &&
         sound(e, attributes.srcLocHint) && sound(e, attributes.dstLocHint);
}

// Each of the attributes holds from one copy on: the first from the first, and so upwards.
bool sound_attributes(const Emulator& e, const calls::MemcpyBatchAsync& call) {
  if (!call.attrs || !call.attrsIdxs || call.numAttrs == 0 || call.numAttrs > call.count) {
    return false;
  }
  for (std::size_t i = 0; i < call.numAttrs; ++i) {
    const std::size_t first = call.attrsIdxs[i];
    if (i == 0 ? first != 0 : first <= call.attrsIdxs[i - 1]) return false;
    if (first >= call.count || !sound(e, call.attrs[i])) return false;
  }
  return true;
}

}  // namespace

CUresult run_batch(const calls::MemcpyBatchAsync& call) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    if (!call.hStream || call.hStream == CU_STREAM_LEGACY) return CUDA_ERROR_INVALID_VALUE;
    if (!e.current_context()) {
      return call.hStream == CU_STREAM_PER_THREAD ? e.no_context() : CUDA_ERROR_INVALID_VALUE;
    }
    if (!call.dsts || !call.srcs || !call.sizes || call.count == 0) return CUDA_ERROR_INVALID_VALUE;
    if (!sound_attributes(e, call)) return CUDA_ERROR_INVALID_VALUE;
    // What comes before a copy that is refused has been made by then.
    for (std::size_t i = 0; i < call.count; ++i) {
      if (call.sizes[i] == 0) return CUDA_ERROR_INVALID_VALUE;
      calls::MemcpyAsync one;
      one.dst = call.dsts[i];
      one.src = call.srcs[i];
      one.ByteCount = call.sizes[i];
      one.hStream = call.hStream;
      const CUresult result = run_transfer(e, one, true, Judge::kStream);
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
#endif
