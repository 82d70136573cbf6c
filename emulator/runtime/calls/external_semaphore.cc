// SPDX-License-Identifier: Apache-2.0
// Semaphores of other APIs. CUDA 12 has the driver's parameter structures under names with _v2; the
// plain names take older and shorter structures, which are not emulated.
#include "emulator/runtime/abi.h"
#include "emulator/runtime/calls/call.h"
#include "emulator/runtime/for_driver.h"

namespace cuvmm::runtime {

CUVMM_RUNTIME_CALL(cudaImportExternalSemaphore, (semaphore, desc), CUexternalSemaphore* semaphore,
                   const ExternalSemaphoreHandle* desc) {
  if (!semaphore || !desc) return cudaErrorInvalidValue;
  const auto handle = for_driver<CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC>(desc);
  return ask(driver.cuImportExternalSemaphore, semaphore, &handle);
}

CUVMM_RUNTIME_CALL(cudaDestroyExternalSemaphore, (semaphore), CUexternalSemaphore semaphore) {
  return ask(driver.cuDestroyExternalSemaphore, semaphore);
}

#if CUVMM_RUNTIME_MAJOR == 12
#define CUVMM_SIGNAL cudaSignalExternalSemaphoresAsync_v2
#define CUVMM_WAIT cudaWaitExternalSemaphoresAsync_v2
#else
#define CUVMM_SIGNAL cudaSignalExternalSemaphoresAsync
#define CUVMM_WAIT cudaWaitExternalSemaphoresAsync
#endif
// Expands the names before they are pasted.
#define CUVMM_RUNTIME_ON_STREAM_OF(symbol, ...) CUVMM_RUNTIME_ON_STREAM(symbol, __VA_ARGS__)

CUVMM_RUNTIME_ON_STREAM_OF(CUVMM_SIGNAL, ptsz, (semaphores, parameters, count, stream),
                           const CUexternalSemaphore* semaphores,
                           const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS* parameters, unsigned count,
                           CUstream stream) {
  return ask(driver.cuSignalExternalSemaphoresAsync, semaphores, parameters, count, stream);
}

CUVMM_RUNTIME_ON_STREAM_OF(CUVMM_WAIT, ptsz, (semaphores, parameters, count, stream),
                           const CUexternalSemaphore* semaphores,
                           const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* parameters, unsigned count,
                           CUstream stream) {
  return ask(driver.cuWaitExternalSemaphoresAsync, semaphores, parameters, count, stream);
}

}  // namespace cuvmm::runtime
