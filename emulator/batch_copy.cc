// cuMemcpyBatchAsync: any number of copies, each as cuMemcpyAsync would do it.
#include "emulator/batch_copy.h"

#if CUDA_VERSION >= 13000
#include "emulator/transfer_entry.h"

namespace cuvmm::emulator {

CUresult run_batch(const calls::MemcpyBatchAsync& call) noexcept {
  return locked([&](Emulator& e) -> CUresult {
    if (!call.dsts || !call.srcs || !call.sizes || call.count == 0) return CUDA_ERROR_INVALID_VALUE;
    // The documentation refuses the default stream.
    if (!call.hStream) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < call.count; ++i) {
      calls::MemcpyAsync one;
      one.dst = call.dsts[i];
      one.src = call.srcs[i];
      one.ByteCount = call.sizes[i];
      one.hStream = call.hStream;
      const CUresult result = run_transfer(e, one);
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace cuvmm::emulator
#endif
