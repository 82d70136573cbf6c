// SPDX-License-Identifier: Apache-2.0
// The runtime's error codes, and how a thread remembers its last one.
#pragma once

#include <cuda.h>

namespace cuvmm::runtime {

/// cudaError_t. The enumerators are the API's own names.
enum Error : int {
#define CUVMM_ERROR(name, value) name = value,
#include "emulator/runtime/errors.def"
#undef CUVMM_ERROR
};

/// The runtime's code for the driver's. Numbers are shared, names are not: INVALID_HANDLE is
/// cudaErrorInvalidResourceHandle, MAP_FAILED cudaErrorMapBufferObjectFailed, INVALID_CONTEXT
/// cudaErrorDeviceUninitialized. A code that the runtime has no name for is cudaErrorUnknown.
Error error_of(CUresult result);

/// Remembers an error, not a success, as the calling thread's last one; returns it.
Error keep(Error error);

}  // namespace cuvmm::runtime
