// cuIpc*: legacy inter-process handles of memory and events.
#include "emulator/entry.h"

namespace cuvmm::emulator {

CUresult perform(Emulator&, const calls::IpcGetMemHandle&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::IpcOpenMemHandle&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::IpcCloseMemHandle&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::IpcGetEventHandle&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::IpcOpenEventHandle&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace cuvmm::emulator
