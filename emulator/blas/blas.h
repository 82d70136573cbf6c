// SPDX-License-Identifier: Apache-2.0
// libcuvmm-blas.so: cuBLAS for programs on the emulator, where NVIDIA's library does not start (it
// contains NVIDIA's runtime). It stores a handle's settings, and puts each computation into the
// order of its stream. It computes with vectors of float and double (vectors.cc), and products of
// dense matrices, also of 16 bits (dense.cc); any other computation is a launch that is skipped and
// counted. It is preloaded, and
// has the names of both libcublas and libcublasLt that programs like PyTorch call; the functions
// that it lacks (descriptors of matrices) only store settings, which NVIDIA's library does.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace cuvmm::blas {

/// The numbers of cublasStatus_t.
enum Status {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 3,
  kInvalidValue = 7,
  kMappingError = 11,
  kExecutionFailed = 13,
};

/// The object behind a cublasHandle_t or a cublasLtHandle_t.
struct Handle {
  CUstream stream = nullptr;
  int pointer_mode = 0;
  int atomics_mode = 0;
  int math_mode = 0;
  int multiprocessors = 0;
  /// The library's kernels in a context, for each pair of elements (kernel_text.h).
  struct Loaded {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
  };
  Loaded loaded[6] = {};
};

/// Records a computation on a stream; `function` is a text that is never freed. NOT_INITIALIZED
/// where the driver is not the emulator, EXECUTION_FAILED where the emulator refuses the
/// computation.
Status queue(const char* function, CUstream stream) noexcept;

/// Whether a launch was skipped before. Then a computation has no right input, and is skipped too.
bool has_skipped() noexcept;

/// Whether the driver is the emulator and can be initialised.
Status start() noexcept;

}  // namespace cuvmm::blas
