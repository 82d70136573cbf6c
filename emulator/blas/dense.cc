// SPDX-License-Identifier: Apache-2.0
// The functions of libcublas for dense matrices that compute.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "emulator/base/export.h"
#include "emulator/blas/kernels.h"

namespace cuvmm::blas {

namespace {

// op(m) for a matrix in columns: 0 is m itself, 1 and 2 its transpose.
bool known(int op) { return op >= 0 && op <= 2; }

// The numbers of cublasComputeType_t: those of float include the faster ones that round factors.
enum {
  kCompute16 = 64,
  kCompute32 = 68,
  kCompute64 = 70,
  kLastCompute32 = 77,
  kCompute32Integer = 72
};

Matrix op_of(int op, const void* first, long long leading, long long between = 0) {
  const auto address = reinterpret_cast<CUdeviceptr>(first);
  return op == 0 ? Matrix{address, 1, leading, between} : Matrix{address, leading, 1, between};
}

template <class Number>
struct Gemm {
  int op_a, op_b;
  long long m, n, k;
  Factor alpha;
  const void* a;
  long long lda, stride_a;
  const void* b;
  long long ldb, stride_b;
  Factor beta;
  void* c;
  long long ldc, stride_c;
  int batch;
  Element in = kNative<Number>, out = kNative<Number>;
  bool indirect = false;
};

/// The matrices are arrays of pointers to matrices.
template <class Number>
Gemm<Number> of_pointers(Gemm<Number> g) {
  g.indirect = true;
  return g;
}

template <class Number>
Status gemm(Handle* handle, const char* name, const Gemm<Number>& g) {
  if (!handle) return kNotInitialized;
  if (!known(g.op_a) || !known(g.op_b) || g.m < 0 || g.n < 0 || g.k < 0 || g.batch < 0)
    return kInvalidValue;
  if (g.lda < (g.op_a == 0 ? g.m : g.k) || g.ldb < (g.op_b == 0 ? g.k : g.n) || g.ldc < g.m)
    return kInvalidValue;
  return multiply<Number>(*handle, name,
                          {g.m, g.n, g.k, g.alpha, op_of(g.op_a, g.a, g.lda, g.stride_a),
                           op_of(g.op_b, g.b, g.ldb, g.stride_b), g.beta,
                           op_of(0, g.c, g.ldc, g.stride_c), g.batch, g.in, g.out, g.indirect});
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

/// The types of a product whose arguments name them.
struct Types {
  int a, b, c, computation;
};
constexpr Types kHalf{kReal16, kReal16, kReal16, kCompute16};

// A factor of 16 bits, as a float.
float from_half(Factor factor) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, factor, sizeof bits);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                      : exponent == 31
                          ? (fraction ? NAN : INFINITY)
                          : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return bits >> 15 ? -value : value;
}

// Computes in float, and in double where all types are.
Status gemm_of_types(Handle* handle, const char* name, Types types, Gemm<float> g) {
  if (!handle) return kNotInitialized;
  if (types.a == kReal64 && types.b == kReal64 && types.c == kReal64 &&
      (types.computation == kCompute64 || types.computation == kCompute64 + 1))
    return gemm<double>(handle, name,
                        {g.op_a, g.op_b,     g.m,     g.n,           g.k,           g.alpha,   g.a,
                         g.lda,  g.stride_a, g.b,     g.ldb,         g.stride_b,    g.beta,    g.c,
                         g.ldc,  g.stride_c, g.batch, Element::kF64, Element::kF64, g.indirect});
  const bool known_types = element_of(types.a, &g.in) && types.a == types.b &&
                           element_of(types.c, &g.out) && g.in != Element::kF64 &&
                           (g.out == g.in || g.out == Element::kF32);
  if (!known_types || types.computation == kCompute64) return queue(name, handle->stream);
  const bool half_factors = types.computation == kCompute16 || types.computation == kCompute16 + 1;
  if (!half_factors && (types.computation < kCompute32 || types.computation > kLastCompute32 ||
                        types.computation == kCompute64 + 1))
    return queue(name, handle->stream);
  if (!half_factors) return gemm<float>(handle, name, g);
  if (handle->pointer_mode != 0) return queue(name, handle->stream);
  if (!g.alpha || !g.beta) return kInvalidValue;
  const float alpha = from_half(g.alpha), beta = from_half(g.beta);
  g.alpha = &alpha;
  g.beta = &beta;
  return gemm<float>(handle, name, g);
}

}  // namespace

// Each function has a form with numbers of 64 bits.
// clang-format off
#define CUVMM_BLAS_DENSE(Number, letter, end, Int) \
  CUVMM_EXPORT(Status, cublas##letter##gemm_v2##end, Handle* handle, int op_a, int op_b, Int m, \
  Int n, Int k, const Number* alpha, const Number* a, Int lda, const Number* b, \
  Int ldb, const Number* beta, Number* c, Int ldc) { \
  return gemm<Number>(handle, "cublas" #letter "gemm_v2" #end, \
  {op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1}); \
  } \
  CUVMM_EXPORT(Status, cublas##letter##gemmStridedBatched##end, Handle* handle, int op_a, \
  int op_b, Int m, Int n, Int k, const Number* alpha, const Number* a, Int lda, \
  long long stride_a, const Number* b, Int ldb, long long stride_b, \
  const Number* beta, Number* c, Int ldc, long long stride_c, Int batch) { \
  return gemm<Number>(handle, "cublas" #letter "gemmStridedBatched" #end, \
  {op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, \
  ldc, stride_c, static_cast<int>(batch)}); \
  } \
  CUVMM_EXPORT(Status, cublas##letter##gemv_v2##end, Handle* handle, int op, Int m, Int n, \
  const Number* alpha, const Number* a, Int lda, const Number* x, Int incx, \
  const Number* beta, Number* y, Int incy) { \
  return gemv<Number>(handle, "cublas" #letter "gemv_v2" #end, op, m, n, alpha, a, lda, x, incx, \
  beta, y, incy); \
  } \
  CUVMM_EXPORT(Status, cublas##letter##gemmBatched##end, Handle* handle, int op_a, int op_b, \
  Int m, Int n, Int k, const Number* alpha, const void* a, Int lda, const void* b, \
  Int ldb, const Number* beta, void* c, Int ldc, Int batch) { \
  return gemm<Number>(handle, "cublas" #letter "gemmBatched" #end, \
  of_pointers<Number>({op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, \
  static_cast<int>(batch)})); \
  } \
  CUVMM_EXPORT(Status, cublas##letter##geam##end, Handle* handle, int op_a, int op_b, Int m, \
  Int n, const Number* alpha, const Number* a, Int lda, const Number* beta, \
  const Number* b, Int ldb, Number* c, Int ldc) { \
  if (!handle) return kNotInitialized; \
  if (!known(op_a) || !known(op_b) || m < 0 || n < 0 || ldc < m) return kInvalidValue; \
  if (lda < (op_a == 0 ? m : n) || ldb < (op_b == 0 ? m : n)) return kInvalidValue; \
  return add<Number>(*handle, "cublas" #letter "geam" #end, \
  Sum<Number>{m, n, alpha, op_of(op_a, a, lda), beta, op_of(op_b, b, ldb), \
  op_of(0, c, ldc)}); \
  }
// clang-format on
CUVMM_BLAS_DENSE(float, S, , int)
CUVMM_BLAS_DENSE(double, D, , int)
CUVMM_BLAS_DENSE(float, S, _64, long long)
CUVMM_BLAS_DENSE(double, D, _64, long long)
#undef CUVMM_BLAS_DENSE

// clang-format off
#define CUVMM_BLAS_EX(end, Int) \
  CUVMM_EXPORT(Status, cublasGemmEx##end, Handle* handle, int op_a, int op_b, Int m, Int n, Int k, \
  Factor alpha, const void* a, int type_a, Int lda, const void* b, int type_b, \
  Int ldb, Factor beta, void* c, int type_c, Int ldc, int computation, int) { \
  return gemm_of_types(handle, "cublasGemmEx" #end, {type_a, type_b, type_c, computation}, \
  {op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1}); \
  } \
  CUVMM_EXPORT(Status, cublasGemmStridedBatchedEx##end, Handle* handle, int op_a, int op_b, Int m, \
  Int n, Int k, Factor alpha, const void* a, int type_a, Int lda, long long stride_a, \
  const void* b, int type_b, Int ldb, long long stride_b, Factor beta, void* c, \
  int type_c, Int ldc, long long stride_c, Int batch, int computation, int) { \
  return gemm_of_types(handle, "cublasGemmStridedBatchedEx" #end, \
  {type_a, type_b, type_c, computation}, \
  {op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, \
  ldc, stride_c, static_cast<int>(batch)}); \
  } \
  CUVMM_EXPORT(Status, cublasGemmBatchedEx##end, Handle* handle, int op_a, int op_b, Int m, Int n, \
  Int k, Factor alpha, const void* a, int type_a, Int lda, const void* b, int type_b, \
  Int ldb, Factor beta, void* c, int type_c, Int ldc, Int batch, int computation, \
  int) { \
  return gemm_of_types(handle, "cublasGemmBatchedEx" #end, \
  {type_a, type_b, type_c, computation}, \
  of_pointers<float>({op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, \
  static_cast<int>(batch)})); \
  } \
  CUVMM_EXPORT(Status, cublasHgemm##end, Handle* handle, int op_a, int op_b, Int m, Int n, Int k, \
  Factor alpha, const void* a, Int lda, const void* b, Int ldb, Factor beta, void* c, \
  Int ldc) { \
  return gemm_of_types(handle, "cublasHgemm" #end, kHalf, \
  {op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1}); \
  } \
  CUVMM_EXPORT(Status, cublasHgemmStridedBatched##end, Handle* handle, int op_a, int op_b, Int m, \
  Int n, Int k, Factor alpha, const void* a, Int lda, long long stride_a, \
  const void* b, Int ldb, long long stride_b, Factor beta, void* c, Int ldc, \
  long long stride_c, Int batch) { \
  return gemm_of_types(handle, "cublasHgemmStridedBatched" #end, kHalf, \
  {op_a, op_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, \
  ldc, stride_c, static_cast<int>(batch)}); \
  } \
  CUVMM_EXPORT(Status, cublasHgemmBatched##end, Handle* handle, int op_a, int op_b, Int m, Int n, \
  Int k, Factor alpha, const void* a, Int lda, const void* b, Int ldb, Factor beta, \
  void* c, Int ldc, Int batch) { \
  return gemm_of_types(handle, "cublasHgemmBatched" #end, kHalf, \
  of_pointers<float>({op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, \
  static_cast<int>(batch)})); \
  }
// clang-format on
CUVMM_BLAS_EX(, int)
CUVMM_BLAS_EX(_64, long long)
#undef CUVMM_BLAS_EX

}  // namespace cuvmm::blas
