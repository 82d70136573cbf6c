// cuImportExternalMemory and what is mapped of it.
#include "emulator/entry.h"

namespace cuvmm::emulator {

CUresult perform(Emulator&, const calls::ImportExternalMemory&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::ExternalMemoryGetMappedBuffer&, const Facts&,
                 const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::ExternalMemoryGetMappedMipmappedArray&, const Facts&,
                 const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::DestroyExternalMemory&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace cuvmm::emulator
