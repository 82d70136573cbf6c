// cuImportExternalSemaphore, signals and waits.
#include "emulator/entry.h"

namespace cuvmm::emulator {

CUresult perform(Emulator&, const calls::ImportExternalSemaphore&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::SignalExternalSemaphoresAsync&, const Facts&,
                 const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::WaitExternalSemaphoresAsync&, const Facts&,
                 const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::DestroyExternalSemaphore&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace cuvmm::emulator
