// Stream-ordered pools: creation, export and import.
#include "emulator/base.h"
#include "emulator/entry.h"

namespace cuvmm::emulator {

CUresult perform(Emulator&, const calls::MemPoolCreate&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MemPoolDestroy&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MemAllocFromPoolAsync&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MemPoolExportToShareableHandle&, const Facts&,
                 const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MemPoolImportFromShareableHandle&, const Facts&,
                 const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MemPoolExportPointer&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MemPoolImportPointer&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MemPoolSetAccess&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::DeviceSetMemPool&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult run_base(const calls::DeviceGetDefaultMemPool&) noexcept {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult run_base(const calls::DeviceGetMemPool&) noexcept { return CUDA_ERROR_NOT_SUPPORTED; }

}  // namespace cuvmm::emulator
