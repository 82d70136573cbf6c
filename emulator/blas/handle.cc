// SPDX-License-Identifier: Apache-2.0
// Handles of libcublas, and their settings.
#include <new>

#include "emulator/base/export.h"
#include "emulator/blas/kernels.h"

namespace cuvmm::blas {

namespace {

/// The answer of cublasGetVersion: the version in CUDA 13.0.
constexpr int kVersion = 130000;

template <class Value>
Status get(const Handle* handle, Value Handle::*setting, Value* out) {
  if (!handle) return kNotInitialized;
  if (!out) return kInvalidValue;
  *out = handle->*setting;
  return kSuccess;
}

template <class Value>
Status set(Handle* handle, Value Handle::*setting, Value value) {
  if (!handle) return kNotInitialized;
  handle->*setting = value;
  return kSuccess;
}

}  // namespace

CUVMM_EXPORT(Status, cublasCreate_v2, Handle** out) {
  if (!out) return kInvalidValue;
  *out = start() == kSuccess ? new (std::nothrow) Handle : nullptr;
  return *out ? kSuccess : kNotInitialized;
}

CUVMM_EXPORT(Status, cublasDestroy_v2, Handle* handle) {
  if (!handle) return kNotInitialized;
  unload(*handle);
  delete handle;
  return kSuccess;
}

CUVMM_EXPORT(Status, cublasGetVersion_v2, Handle*, int* version) {
  if (!version) return kInvalidValue;
  *version = kVersion;
  return kSuccess;
}

CUVMM_EXPORT(Status, cublasSetStream_v2, Handle* handle, CUstream stream) {
  return set(handle, &Handle::stream, stream);
}
CUVMM_EXPORT(Status, cublasGetStream_v2, Handle* handle, CUstream* stream) {
  return get(handle, &Handle::stream, stream);
}

// The workspace is ignored, because nothing computes.
CUVMM_EXPORT(Status, cublasSetWorkspace_v2, Handle* handle, void*, std::size_t) {
  return handle ? kSuccess : kNotInitialized;
}

#define CUVMM_BLAS_SETTING(setter, getter, member)                 \
  CUVMM_EXPORT(Status, setter, Handle* handle, int value) {        \
    return set(handle, &Handle::member, value);                    \
  }                                                                \
  CUVMM_EXPORT(Status, getter, const Handle* handle, int* value) { \
    return get(handle, &Handle::member, value);                    \
  }
CUVMM_BLAS_SETTING(cublasSetPointerMode_v2, cublasGetPointerMode_v2, pointer_mode)
CUVMM_BLAS_SETTING(cublasSetAtomicsMode, cublasGetAtomicsMode, atomics_mode)
CUVMM_BLAS_SETTING(cublasSetMathMode, cublasGetMathMode, math_mode)
CUVMM_BLAS_SETTING(cublasSetSmCountTarget, cublasGetSmCountTarget, multiprocessors)
#undef CUVMM_BLAS_SETTING

}  // namespace cuvmm::blas
