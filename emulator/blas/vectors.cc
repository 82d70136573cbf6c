// SPDX-License-Identifier: Apache-2.0
// The functions of libcublas for vectors that compute.
#include "emulator/base/export.h"
#include "emulator/blas/kernels.h"

namespace cuvmm::blas {

namespace {

// The dot product of vectors whose types the arguments name; the sum is
// more exact than the type of the computation.
Status dot_of_types(Handle* handle, const char* name, const int (&types)[4], long long count,
                    const void* x, long long incx, const void* y, long long incy, void* result) {
  if (!handle) return kNotInitialized;
  Element element{}, computation{};
  const bool known =
      element_of(types[0], &element) && types[1] == types[0] && types[2] == types[0] &&
      element_of(types[3], &computation) &&
      (computation == element || (computation == Element::kF32 && element != Element::kF64));
  if (!known) return queue(name, handle->stream);
  return reduce(
      *handle, name, Reduction::kProducts, element,
      {count, vector_of(x, count, incx, element), vector_of(y, count, incy, element), result});
}

}  // namespace

// Each function has a form with numbers of 64 bits.
// clang-format off
#define CUVMM_BLAS_REDUCES(Number, letter, end, Int, name, Result, kind) \
  CUVMM_EXPORT(Status, cublas##name##_v2##end, Handle* handle, Int count, const Number* x, \
  Int incx, Result* result) { \
  if (!handle) return kNotInitialized; \
  return reduce(*handle, "cublas" #name "_v2" #end, Reduction::kind, kNative<Number>, \
  {count, vector<Number>(x, count, incx), {}, result, int{sizeof(Result)}}); \
  }
#define CUVMM_BLAS_MOVES(Number, letter, end, Int, name, swaps) \
  CUVMM_EXPORT(Status, cublas##letter##name##_v2##end, Handle* handle, Int count, const void* x, \
  Int incx, const void* y, Int incy) { \
  if (!handle) return kNotInitialized; \
  return move<Number>(*handle, "cublas" #letter #name "_v2" #end, count, \
  vector<Number>(x, count, incx), vector<Number>(y, count, incy), swaps); \
  }
#define CUVMM_BLAS_VECTORS(Number, letter, end, Int) \
  CUVMM_EXPORT(Status, cublas##letter##axpy_v2##end, Handle* handle, Int count, \
  const Number* alpha, const Number* x, Int incx, Number* y, Int incy) { \
  if (!handle) return kNotInitialized; \
  return add<Number>(*handle, "cublas" #letter "axpy_v2" #end, count, alpha, \
  vector<Number>(x, count, incx), vector<Number>(y, count, incy)); \
  } \
  CUVMM_EXPORT(Status, cublas##letter##scal_v2##end, Handle* handle, Int count, \
  const Number* alpha, Number* x, Int incx) { \
  if (!handle) return kNotInitialized; \
  if (incx <= 0) return kSuccess; \
  return scale<Number>(*handle, "cublas" #letter "scal_v2" #end, count, alpha, \
  vector<Number>(x, count, incx)); \
  } \
  CUVMM_EXPORT(Status, cublas##letter##dot_v2##end, Handle* handle, Int count, const Number* x, \
  Int incx, const Number* y, Int incy, Number* result) { \
  if (!handle) return kNotInitialized; \
  return reduce( \
  *handle, "cublas" #letter "dot_v2" #end, Reduction::kProducts, kNative<Number>, \
  {count, vector<Number>(x, count, incx), vector<Number>(y, count, incy), result}); \
  } \
  CUVMM_BLAS_MOVES(Number, letter, end, Int, copy, false) \
  CUVMM_BLAS_MOVES(Number, letter, end, Int, swap, true) \
  CUVMM_BLAS_REDUCES(Number, letter, end, Int, letter##nrm2, Number, kNorm) \
  CUVMM_BLAS_REDUCES(Number, letter, end, Int, letter##asum, Number, kAbsoluteSum)
// clang-format on
CUVMM_BLAS_VECTORS(float, S, , int)
CUVMM_BLAS_VECTORS(double, D, , int)
CUVMM_BLAS_VECTORS(float, S, _64, long long)
CUVMM_BLAS_VECTORS(double, D, _64, long long)

// clang-format off
#define CUVMM_BLAS_INDICES(Number, small, end, Int) \
  CUVMM_BLAS_REDUCES(Number, small, end, Int, I##small##amax, Int, kLargest) \
  CUVMM_BLAS_REDUCES(Number, small, end, Int, I##small##amin, Int, kSmallest)
// clang-format on
CUVMM_BLAS_INDICES(float, s, , int)
CUVMM_BLAS_INDICES(double, d, , int)
CUVMM_BLAS_INDICES(float, s, _64, long long)
CUVMM_BLAS_INDICES(double, d, _64, long long)

// clang-format off
#define CUVMM_BLAS_DOT_EX(end, Int) \
  CUVMM_EXPORT(Status, cublasDotEx##end, Handle* handle, Int count, const void* x, int type_x, \
  Int incx, const void* y, int type_y, Int incy, void* result, int type, \
  int computation) { \
  return dot_of_types(handle, "cublasDotEx" #end, {type_x, type_y, type, computation}, count, x, \
  incx, y, incy, result); \
  }
// clang-format on
CUVMM_BLAS_DOT_EX(, int)
CUVMM_BLAS_DOT_EX(_64, long long)

}  // namespace cuvmm::blas
