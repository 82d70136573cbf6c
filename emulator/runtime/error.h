// SPDX-License-Identifier: Apache-2.0
// The runtime's error codes, and how a thread remembers its last one.
#pragma once

#include <cuda.h>

namespace cuvmm::runtime {

/// cudaError_t. The enumerators have the API's own names.
enum Error : int {
#define CUVMM_ERROR(name, value) name = value,
#include "emulator/runtime/errors.def"
#undef CUVMM_ERROR
};

/// The runtime's code for a code of the driver. The numbers are equal, but the names differ:
/// INVALID_HANDLE is cudaErrorInvalidResourceHandle, MAP_FAILED cudaErrorMapBufferObjectFailed,
/// INVALID_CONTEXT cudaErrorDeviceUninitialized. A code without a name in the runtime is
/// cudaErrorUnknown.
Error error_of(CUresult result);

/// Remembers an error, but not a success, as the calling thread's last error; returns `error`.
Error keep(Error error);

/// `<<<>>>` gives a program no result. So a launch that was refused is also the answer of the
/// thread's next call, unless the program asks for the thread's last error before that.
void answer_next_call(Error refused);
/// The error for the thread's next call, which then is answered; success: there is none.
Error refused_before();

}  // namespace cuvmm::runtime
