// SPDX-License-Identifier: Apache-2.0
// The functions of libcublas for float and double that compute.
#include "emulator/base/export.h"
#include "emulator/blas/kernels.h"

namespace cuvmm::blas {

namespace {

// op(m) for a matrix in columns: 0 is m itself, 1 and 2 its transpose.
bool known(int op) { return op >= 0 && op <= 2; }

Matrix op_of(int op, const void* first, long long leading, long long between = 0) {
  const auto address = reinterpret_cast<CUdeviceptr>(first);
  return op == 0 ? Matrix{address, 1, leading, between} : Matrix{address, leading, 1, between};
}

// A vector whose increment is negative begins at its end.
template <class Number>
Matrix vector(const void* first, long long count, long long increment) {
  auto address = reinterpret_cast<CUdeviceptr>(first);
  if (increment < 0 && count > 0)
    address += static_cast<CUdeviceptr>((1 - count) * increment) * sizeof(Number);
  return {address, increment, 0};
}

template <class Number>
struct Gemm {
  int op_a, op_b;
  long long m, n, k;
  Factor alpha;
  const Number* a;
  long long lda, stride_a;
  const Number* b;
  long long ldb, stride_b;
  Factor beta;
  Number* c;
  long long ldc, stride_c;
  int batch;
};

template <class Number>
Status gemm(Handle* handle, const char* name, const Gemm<Number>& g) {
  if (!handle) return kNotInitialized;
  if (!known(g.op_a) || !known(g.op_b) || g.m < 0 || g.n < 0 || g.k < 0 || g.batch < 0)
    return kInvalidValue;
  if (g.lda < (g.op_a == 0 ? g.m : g.k) || g.ldb < (g.op_b == 0 ? g.k : g.n) || g.ldc < g.m)
    return kInvalidValue;
  return multiply<Number>(
      *handle, name,
      {g.m, g.n, g.k, g.alpha, op_of(g.op_a, g.a, g.lda, g.stride_a),
       op_of(g.op_b, g.b, g.ldb, g.stride_b), g.beta, op_of(0, g.c, g.ldc, g.stride_c), g.batch});
}

template <class Number>
Status gemv(Handle* handle, const char* name, int op, long long m, long long n, Factor alpha,
            const Number* a, long long lda, const Number* x, long long incx, Factor beta, Number* y,
            long long incy) {
  if (!handle) return kNotInitialized;
  if (!known(op) || m < 0 || n < 0 || lda < m || incx == 0 || incy == 0) return kInvalidValue;
  const long long rows = op == 0 ? m : n, inner = op == 0 ? n : m;
  return multiply<Number>(*handle, name,
                          {rows, 1, inner, alpha, op_of(op, a, lda), vector<Number>(x, inner, incx),
                           beta, vector<Number>(y, rows, incy)});
}

}  // namespace

// Each function has a form with numbers of 64 bits.
#define CUVMM_BLAS_DENSE(Number, letter, end, Int)                                                 \
  CUVMM_EXPORT(Status, cublas##letter##gemm_v2##end, Handle* handle, int op_a, int op_b, Int m,    \
               Int n, Int k, const Number* alpha, const Number* a, Int lda, const Number* b,       \
               Int ldb, const Number* beta, Number* c, Int ldc) {                                  \
    return gemm<Number>(handle, "cublas" #letter "gemm_v2" #end,                                   \
                        {op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1});   \
  }                                                                                                \
  CUVMM_EXPORT(Status, cublas##letter##gemmStridedBatched##end, Handle* handle, int op_a,          \
               int op_b, Int m, Int n, Int k, const Number* alpha, const Number* a, Int lda,       \
               long long stride_a, const Number* b, Int ldb, long long stride_b,                   \
               const Number* beta, Number* c, Int ldc, long long stride_c, Int batch) {            \
    return gemm<Number>(handle, "cublas" #letter "gemmStridedBatched" #end,                        \
                        {op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c,  \
                         ldc, stride_c, static_cast<int>(batch)});                                 \
  }                                                                                                \
  CUVMM_EXPORT(Status, cublas##letter##gemv_v2##end, Handle* handle, int op, Int m, Int n,         \
               const Number* alpha, const Number* a, Int lda, const Number* x, Int incx,           \
               const Number* beta, Number* y, Int incy) {                                          \
    return gemv<Number>(handle, "cublas" #letter "gemv_v2" #end, op, m, n, alpha, a, lda, x, incx, \
                        beta, y, incy);                                                            \
  }                                                                                                \
  CUVMM_EXPORT(Status, cublas##letter##axpy_v2##end, Handle* handle, Int count,                    \
               const Number* alpha, const Number* x, Int incx, Number* y, Int incy) {              \
    if (!handle) return kNotInitialized;                                                           \
    return add<Number>(*handle, "cublas" #letter "axpy_v2" #end, count, alpha,                     \
                       vector<Number>(x, count, incx), vector<Number>(y, count, incy));            \
  }                                                                                                \
  CUVMM_EXPORT(Status, cublas##letter##scal_v2##end, Handle* handle, Int count,                    \
               const Number* alpha, Number* x, Int incx) {                                         \
    if (!handle) return kNotInitialized;                                                           \
    if (incx <= 0) return kSuccess;                                                                \
    return scale<Number>(*handle, "cublas" #letter "scal_v2" #end, count, alpha,                   \
                         vector<Number>(x, count, incx));                                          \
  }                                                                                                \
  CUVMM_EXPORT(Status, cublas##letter##dot_v2##end, Handle* handle, Int count, const Number* x,    \
               Int incx, const Number* y, Int incy, Number* result) {                              \
    if (!handle) return kNotInitialized;                                                           \
    return dot<Number>(*handle, "cublas" #letter "dot_v2" #end, count,                             \
                       vector<Number>(x, count, incx), vector<Number>(y, count, incy), result);    \
  }
CUVMM_BLAS_DENSE(float, S, , int)
CUVMM_BLAS_DENSE(double, D, , int)
CUVMM_BLAS_DENSE(float, S, _64, long long)
CUVMM_BLAS_DENSE(double, D, _64, long long)
#undef CUVMM_BLAS_DENSE

}  // namespace cuvmm::blas
