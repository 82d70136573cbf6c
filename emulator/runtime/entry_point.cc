// SPDX-License-Identifier: Apache-2.0
// cudaGetDriverEntryPoint and its forms: calls of cuGetProcAddress, by which programs of the
// runtime reach the VMM API.
#include "emulator/base/export.h"
#include "emulator/runtime/calls/context.h"
#include "emulator/runtime/version.h"

namespace cuvmm::runtime {

namespace {

/// The numbers of cudaEnableDefault, cudaEnableLegacyStream and cudaEnablePerThreadDefaultStream,
/// which are those of the driver's flags.
constexpr unsigned long long kDefault = 0, kLegacy = 1, kPerThread = 2;

// A name that the driver lacks is no error: the function is null and the status gives the reason.
Error find(const char* name, void** function, int version, unsigned long long flags,
           unsigned long long default_flags, int* status) {
  return in_driver(Streams::kLegacy, [&](const Driver& driver) {
    if (!name || !function || flags > kPerThread) return cudaErrorInvalidValue;
    *function = nullptr;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const CUresult result =
        driver.ask(name, function, version, flags == kDefault ? default_flags : flags, &found);
    if (result != CUDA_SUCCESS) *function = nullptr;
    if (status) *status = static_cast<int>(found);
    return result == CUDA_ERROR_NOT_FOUND ? cudaSuccess : error_of(result);
  });
}

}  // namespace

CUVMM_EXPORT(Error, cudaGetDriverEntryPoint, const char* name, void** function,
             unsigned long long flags, int* status) {
  return find(name, function, kVersion, flags, kLegacy, status);
}

CUVMM_EXPORT(Error, cudaGetDriverEntryPoint_ptsz, const char* name, void** function,
             unsigned long long flags, int* status) {
  return find(name, function, kVersion, flags, kPerThread, status);
}

CUVMM_EXPORT(Error, cudaGetDriverEntryPointByVersion, const char* name, void** function,
             unsigned version, unsigned long long flags, int* status) {
  return find(name, function, static_cast<int>(version), flags, kLegacy, status);
}

CUVMM_EXPORT(Error, cudaGetDriverEntryPointByVersion_ptsz, const char* name, void** function,
             unsigned version, unsigned long long flags, int* status) {
  return find(name, function, static_cast<int>(version), flags, kPerThread, status);
}

}  // namespace cuvmm::runtime
