// SPDX-License-Identifier: Apache-2.0
// cuMemcpyBatchAsync, in the ABI of CUDA 13.
#pragma once

#include "api/calls.h"

#if CUDA_VERSION >= 13000
namespace cuvmm::emulator {
CUresult run_batch(const calls::MemcpyBatchAsync& call) noexcept;
}
#endif
