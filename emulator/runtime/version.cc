// SPDX-License-Identifier: Apache-2.0
#include "emulator/runtime/version.h"

#include "emulator/base/export.h"
#include "emulator/runtime/calls/context.h"

namespace cuvmm::runtime {

CUVMM_EXPORT(Error, cudaRuntimeGetVersion, int* version) {
  if (!version) return keep(cudaErrorInvalidValue);
  *version = kVersion;
  return cudaSuccess;
}

// Writes 0 where no driver is found.
CUVMM_EXPORT(Error, cudaDriverGetVersion, int* version) {
  if (!version) return keep(cudaErrorInvalidValue);
  *version = 0;
  Error error = cudaSuccess;
  const Driver* driver = driver_for(Streams::kLegacy, error);
  return driver ? keep(ask(driver->cuDriverGetVersion, version)) : cudaSuccess;
}

}  // namespace cuvmm::runtime
