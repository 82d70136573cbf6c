// SPDX-License-Identifier: Apache-2.0
/* Multiplies matrices with cuBLAS, whose functions it finds where PyTorch would: preloaded.
 * argument: how often. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)                           \
  do {                                               \
    if (!(condition)) {                              \
      fprintf(stderr, "not true: %s\n", #condition); \
      exit(1);                                       \
    }                                                \
  } while (0)

static void* find(const char* name) {
  void* function = dlsym(RTLD_DEFAULT, name);
  if (!function) {
    fprintf(stderr, "there is no %s\n", name);
    exit(2);
  }
  return function;
}

static void settings(void* handle) {
  int (*set)(void*, int) = (int (*)(void*, int))find("cublasSetMathMode");
  int (*get)(void*, int*) = (int (*)(void*, int*))find("cublasGetMathMode");
  int mode = -1;
  REQUIRE(get(handle, &mode) == 0 && mode == 0);
  REQUIRE(set(handle, 3) == 0 && get(handle, &mode) == 0 && mode == 3);
  REQUIRE(get(handle, NULL) == 7 && set(NULL, 1) == 1);
}

static int (*allocate)(void**, size_t);
static int (*release)(void*);
static int (*copy)(void*, const void*, size_t, int);
enum { kToDevice = 1, kFromDevice = 2, kNone = 0, kTransposed = 1 };

typedef int Gemm(void*, int, int, int, int, int, const void*, const void*, int, const void*, int,
                 const void*, void*, int);

/* Columns: a is 2 by 3, b is 3 by 2, and c = 2 * a * b + 10 * c; then with both transposed. */
static void products(void* handle) {
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 2, 0, 1, 3}, alpha = 2, beta = 10;
  float c[] = {1, 1, 1, 1}, square[9], zero = 0;
  void *da, *db, *dc;
  Gemm* multiply = (Gemm*)find("cublasSgemm_v2");
  REQUIRE(allocate(&da, sizeof a) == 0 && allocate(&db, sizeof b) == 0);
  REQUIRE(allocate(&dc, sizeof square) == 0);
  REQUIRE(copy(da, a, sizeof a, kToDevice) == 0 && copy(db, b, sizeof b, kToDevice) == 0);
  REQUIRE(copy(dc, c, sizeof c, kToDevice) == 0);
  REQUIRE(multiply(handle, kNone, kNone, 2, 2, 3, &alpha, da, 2, db, 3, &beta, dc, 2) == 0);
  REQUIRE(copy(c, dc, sizeof c, kFromDevice) == 0);
  REQUIRE(c[0] == 32 && c[1] == 38 && c[2] == 46 && c[3] == 54);
  REQUIRE(multiply(handle, kTransposed, kTransposed, 3, 3, 2, &alpha, da, 2, db, 3, &zero, dc, 3) ==
          0);
  REQUIRE(copy(square, dc, sizeof square, kFromDevice) == 0);
  REQUIRE(square[0] == 2 && square[2] == 10 && square[3] == 4 && square[8] == 2 * (5 * 2 + 6 * 3));
  REQUIRE(multiply(handle, kNone, kNone, 2, 2, 3, &alpha, da, 1, db, 3, &beta, dc, 2) == 7);
  REQUIRE(release(da) == 0 && release(db) == 0 && release(dc) == 0);
}

static void vectors(void* handle) {
  const double x[] = {1, 2, 3, 4}, alpha = 3;
  double y[] = {10, 20, 30, 40}, sum = 0;
  void *dx, *dy;
  int (*add)(void*, int, const double*, const void*, int, void*, int) =
      (int (*)(void*, int, const double*, const void*, int, void*, int))find("cublasDaxpy_v2");
  int (*dot)(void*, int, const void*, int, const void*, int, double*) =
      (int (*)(void*, int, const void*, int, const void*, int, double*))find("cublasDdot_v2");
  int (*scale)(void*, int, const double*, void*, int) =
      (int (*)(void*, int, const double*, void*, int))find("cublasDscal_v2");
  REQUIRE(allocate(&dx, sizeof x) == 0 && allocate(&dy, sizeof y) == 0);
  REQUIRE(copy(dx, x, sizeof x, kToDevice) == 0 && copy(dy, y, sizeof y, kToDevice) == 0);
  REQUIRE(add(handle, 4, &alpha, dx, -1, dy, 1) == 0);
  REQUIRE(copy(y, dy, sizeof y, kFromDevice) == 0);
  REQUIRE(y[0] == 22 && y[1] == 29 && y[2] == 36 && y[3] == 43);
  REQUIRE(dot(handle, 2, dx, 2, dy, 1, &sum) == 0 && sum == 22 + 3 * 29);
  REQUIRE(scale(handle, 2, &alpha, dy, 2) == 0 && copy(y, dy, sizeof y, kFromDevice) == 0);
  REQUIRE(y[0] == 66 && y[1] == 29 && y[2] == 108 && y[3] == 43);
  REQUIRE(release(dx) == 0 && release(dy) == 0);
}

int main(int count, char** words) {
  const int launches = count > 1 ? atoi(words[1]) : 0;
  int (*start)(int*) = (int (*)(int*))find("cudaGetDeviceCount");
  int (*wait)(void) = (int (*)(void))find("cudaDeviceSynchronize");
  int (*create)(void**) = (int (*)(void**))find("cublasCreate_v2");
  int (*destroy)(void*) = (int (*)(void*))find("cublasDestroy_v2");
  Gemm *skipped = (Gemm*)find("cublasCgemm_v2"), *multiply = (Gemm*)find("cublasSgemm_v2");
  int devices = 0;
  const float one[] = {1, 0};
  void* handle = NULL;
  allocate = (int (*)(void**, size_t))find("cudaMalloc");
  release = (int (*)(void*))find("cudaFree");
  copy = (int (*)(void*, const void*, size_t, int))find("cudaMemcpy");
  REQUIRE(create(NULL) == 7);
  REQUIRE(create(&handle) == 0 && handle);
  REQUIRE(start(&devices) == 0 && release(NULL) == 0);
  settings(handle);
  products(handle);
  vectors(handle);
  for (int i = 0; i < launches; ++i) {
    REQUIRE(skipped(handle, 0, 0, 2, 2, 2, one, NULL, 2, NULL, 2, one, NULL, 2) == 0);
    REQUIRE(wait() == 0); /* late streams skip only here */
    /* The results of the other are missing, so this one is skipped too. */
    REQUIRE(multiply(handle, 0, 0, 2, 2, 2, one, NULL, 2, NULL, 2, one, NULL, 2) == 0);
  }
  REQUIRE(wait() == 0);
  REQUIRE(multiply(NULL, 0, 0, 2, 2, 2, one, NULL, 2, NULL, 2, one, NULL, 2) == 1);
  REQUIRE(destroy(handle) == 0);
  puts("PASSED");
  return 0;
}
