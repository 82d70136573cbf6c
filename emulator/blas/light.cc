// SPDX-License-Identifier: Apache-2.0
// libcublasLt. NVIDIA's library makes the descriptors that these functions take; none of them is
// read.
#include <cstdint>
#include <new>

#include "emulator/base/export.h"
#include "emulator/blas/blas.h"

namespace cuvmm::blas {

namespace {

/// cublasLtMatmulHeuristicResult_t.
struct Candidate {
  std::uint64_t algorithm[8];
  std::size_t workspace_bytes;
  Status status;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Candidate) == 96);

}  // namespace

CUVMM_EXPORT(Status, cublasLtCreate, Handle** out) {
  if (!out) return kInvalidValue;
  *out = start() == kSuccess ? new (std::nothrow) Handle : nullptr;
  return *out ? kSuccess : kNotInitialized;
}

CUVMM_EXPORT(Status, cublasLtDestroy, Handle* handle) {
  delete handle;
  return kSuccess;
}

// Any algorithm works, because nothing computes; the call offers one candidate.
CUVMM_EXPORT(Status, cublasLtMatmulAlgoGetHeuristic, const Handle* handle, void*, void*, void*,
             void*, void*, void*, int capacity, Candidate* candidates, int* count) {
  if (!handle) return kNotInitialized;
  if (capacity < 1 || !candidates || !count) return kInvalidValue;
  candidates[0] = Candidate{{}, 0, kSuccess, 1.0F, {}};
  *count = 1;
  return kSuccess;
}

CUVMM_EXPORT(Status, cublasLtMatmulAlgoInit, const Handle* handle, int, int, int, int, int, int,
             int, std::uint64_t* algorithm) {
  if (!handle) return kNotInitialized;
  if (!algorithm) return kInvalidValue;
  for (int i = 0; i < 8; ++i) algorithm[i] = 0;
  return kSuccess;
}

CUVMM_EXPORT(Status, cublasLtMatmulAlgoCheck, const Handle* handle, void*, void*, void*, void*,
             void*, const void* algorithm, Candidate* result) {
  if (!handle) return kNotInitialized;
  if (!algorithm || !result) return kInvalidValue;
  *result = Candidate{{}, 0, kSuccess, 1.0F, {}};
  return kSuccess;
}

CUVMM_EXPORT(Status, cublasLtMatmul, const Handle* handle, void* computation, const void*,
             const void*, void*, const void*, void*, const void*, const void*, void*, void*, void*,
             const void*, void*, std::size_t, CUstream stream) {
  if (!handle) return kNotInitialized;
  return computation ? queue("cublasLtMatmul", stream) : kInvalidValue;
}

CUVMM_EXPORT(Status, cublasLtMatrixTransform, const Handle* handle, void* transform, const void*,
             const void*, void*, const void*, const void*, void*, void*, void*, CUstream stream) {
  if (!handle) return kNotInitialized;
  return transform ? queue("cublasLtMatrixTransform", stream) : kInvalidValue;
}

}  // namespace cuvmm::blas
