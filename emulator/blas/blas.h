// SPDX-License-Identifier: Apache-2.0
// libcuvmm-blas.so: cuBLAS for programs on the emulator, where NVIDIA's does not start (it has
// NVIDIA's runtime inside). It keeps a handle's settings, gives each computation its place on the
// stream, and computes nothing: a launch that is skipped and counted, as those of our libcudart.
// It is preloaded, and has the names of both libcublas and libcublasLt that programs like PyTorch
// call; what it lacks (descriptors of matrices) is pure bookkeeping, which NVIDIA's library does.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace cuvmm::blas {

/// cublasStatus_t has these numbers.
enum Status {
  kSuccess = 0,
  kNotInitialized = 1,
  kInvalidValue = 7,
  kExecutionFailed = 13,
};

/// What a cublasHandle_t or a cublasLtHandle_t points to.
struct Handle {
  CUstream stream = nullptr;
  int pointer_mode = 0;
  int atomics_mode = 0;
  int math_mode = 0;
  int multiprocessors = 0;
};

/// Takes note of a computation on a stream; `function` is a text that lives for ever.
/// NOT_INITIALIZED where the driver is not the emulator, EXECUTION_FAILED where it refuses.
Status queue(const char* function, CUstream stream) noexcept;

/// Whether the driver is the emulator and starts.
Status start() noexcept;

}  // namespace cuvmm::blas
