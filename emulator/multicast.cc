// cuMulticast*: a team of devices, memory bound to it, and what is mapped of it.
#include "emulator/entry.h"

namespace cuvmm::emulator {

CUresult perform(Emulator&, const calls::MulticastCreate&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MulticastAddDevice&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MulticastBindMem&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MulticastBindAddr&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MulticastBindMem_v2&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MulticastBindAddr_v2&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MulticastUnbind&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult perform(Emulator&, const calls::MulticastGetGranularity&, const Facts&, const Retired&) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace cuvmm::emulator
