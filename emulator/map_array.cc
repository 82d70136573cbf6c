// cuMemMapArrayAsync: tiles of sparse arrays.
#include "emulator/entry.h"

namespace cuvmm::emulator {

CUresult perform(Emulator&, const calls::MemMapArrayAsync&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace cuvmm::emulator
