// SPDX-License-Identifier: Apache-2.0
// The functions of libcublas that would compute, and are skipped. Each takes its handle first; the
// C calling convention lets a function ignore its other arguments. They are weak, so that dense.cc
// replaces those that compute.
#include "emulator/blas/blas.h"

namespace cuvmm::blas {

#define CUVMM_BLAS_NAME(index, symbol)                                \
  extern "C" __attribute__((weak, visibility("default")))             \
  Status compute_##index(const Handle* handle) __asm__(#symbol);      \
  extern "C" Status compute_##index(const Handle* handle) {           \
    return handle ? queue(#symbol, handle->stream) : kNotInitialized; \
  }
#include "blas_symbols.inc"

}  // namespace cuvmm::blas
