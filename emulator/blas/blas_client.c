// SPDX-License-Identifier: Apache-2.0
/* Multiplies matrices with cuBLAS, whose functions it finds where PyTorch would: preloaded.
 * argument: how often. */
#include <dlfcn.h>
#include <pthread.h>
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
  int (*set)(void*, int) = 0;
  *(void**)&set = find("cublasSetMathMode");
  int (*get)(void*, int*) = 0;
  *(void**)&get = find("cublasGetMathMode");
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
  int (*add)(void*, int, const double*, const void*, int, void*, int) = 0;
  *(void**)&add = find("cublasDaxpy_v2");
  int (*dot)(void*, int, const void*, int, const void*, int, double*) = 0;
  *(void**)&dot = find("cublasDdot_v2");
  int (*scale)(void*, int, const double*, void*, int) = 0;
  *(void**)&scale = find("cublasDscal_v2");
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

/* The root of a sum of squares that overflow or vanish, sums, indices, copies by negative steps. */
static void reductions(void* handle) {
  const double x[] = {3e200, -4e200, 0, 4e200}, small[] = {3e-200, -4e-200, 0, 0};
  double y[] = {1, 2, 3, 4}, found = 0;
  int index = 0;
  void *dx, *dy;
  typedef int Reduce(void*, int, const void*, int, void*);
  Reduce *norm = (Reduce*)find("cublasDnrm2_v2"), *sum = (Reduce*)find("cublasDasum_v2");
  Reduce *most = (Reduce*)find("cublasIdamax_v2"), *least = (Reduce*)find("cublasIdamin_v2");
  int (*set)(int, int, const void*, int, void*, int) = 0;
  *(void**)&set = find("cublasSetVector");
  int (*get)(int, int, const void*, int, void*, int) = 0;
  *(void**)&get = find("cublasGetVector");
  int (*move)(void*, int, void*, int, void*, int) = 0;
  *(void**)&move = find("cublasDcopy_v2");
  int (*swap)(void*, int, void*, int, void*, int) = 0;
  *(void**)&swap = find("cublasDswap_v2");
  REQUIRE(allocate(&dx, sizeof x) == 0 && allocate(&dy, sizeof y) == 0);
  REQUIRE(set(4, 8, x, 1, dx, 1) == 0 && set(4, 8, y, 1, dy, 1) == 0);
  REQUIRE(norm(handle, 2, dx, 1, &found) == 0 && found > 4.99999e200 && found < 5.00001e200);
  REQUIRE(sum(handle, 4, dx, 1, &found) == 0 && found > 1.09999e201 && found < 1.10001e201);
  REQUIRE(most(handle, 4, dx, 1, &index) == 0 && index == 2);
  REQUIRE(least(handle, 4, dx, 1, &index) == 0 && index == 3);
  REQUIRE(most(handle, 0, dx, 1, &index) == 0 && index == 0);
  REQUIRE(set(4, 8, small, 1, dx, 1) == 0);
  REQUIRE(norm(handle, 4, dx, 1, &found) == 0 && found > 4.99999e-200 && found < 5.00001e-200);
  REQUIRE(norm(handle, 2, dx, 0, &found) == 0 && found == 0);
  REQUIRE(set(4, 8, y, 1, dy, 1) == 0 && move(handle, 4, dy, -1, dx, 1) == 0);
  REQUIRE(get(2, 8, dx, 2, y, 1) == 0 && y[0] == 4 && y[1] == 2);
  REQUIRE(swap(handle, 4, dy, 1, dx, 1) == 0);
  REQUIRE(get(4, 8, dy, 1, y, 1) == 0 && y[0] == 4 && y[1] == 3 && y[2] == 2 && y[3] == 1);
  REQUIRE(get(4, 8, dy, 0, y, 1) == 7 && set(-1, 8, x, 1, dx, 1) == 7);
  REQUIRE(release(dx) == 0 && release(dy) == 0);
}

enum { kReal32 = 0, kReal16 = 2, kReal16Brain = 14, kInFloat = 68, kInHalf = 64 };

/* Elements of 16 bits: 1, 2, 3, 4 in columns, times themselves. */
static void short_types(void* handle) {
  const unsigned short half[] = {0x3c00, 0x4000, 0x4200, 0x4400}, two = 0x4000, none = 0;
  const unsigned short brain[] = {0x3f80, 0x4000, 0x4040, 0x4080};
  const float one = 1, zero = 0;
  unsigned short found[4];
  float wide[4];
  void *a, *c, *where[3], *da, *db, *dc;
  int (*multiply)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*,
                  int, int, const void*, void*, int, int, int, int) = 0;
  *(void**)&multiply = find("cublasGemmEx");
  int (*batch)(void*, int, int, int, int, int, const void*, const void*, int, const void*, int,
               const void*, void*, int, int) = 0;
  *(void**)&batch = find("cublasSgemmBatched");
  int (*dot)(void*, int, const void*, int, int, const void*, int, int, void*, int, int) =
      (int (*)(void*, int, const void*, int, int, const void*, int, int, void*, int, int))find(
          "cublasDotEx");
  int (*sum)(void*, int, int, int, int, const void*, const void*, int, const void*, const void*,
             int, void*, int) = 0;
  *(void**)&sum = find("cublasSgeam");
  REQUIRE(allocate(&a, sizeof wide) == 0 && allocate(&c, sizeof wide) == 0);
  REQUIRE(copy(a, half, sizeof half, kToDevice) == 0);
  REQUIRE(multiply(handle, kNone, kNone, 2, 2, 2, &two, a, kReal16, 2, a, kReal16, 2, &none, c,
                   kReal16, 2, kInHalf, 0) == 0);
  REQUIRE(copy(found, c, sizeof found, kFromDevice) == 0);
  REQUIRE(found[0] == 0x4b00 && found[1] == 0x4d00 && found[2] == 0x4f80 && found[3] == 0x5180);
  REQUIRE(dot(handle, 4, a, kReal16, 1, a, kReal16, 1, found, kReal16, kReal32) == 0);
  REQUIRE(found[0] == 0x4f80); /* 30 */
  REQUIRE(copy(a, brain, sizeof brain, kToDevice) == 0);
  REQUIRE(multiply(handle, kNone, kTransposed, 2, 2, 2, &one, a, kReal16Brain, 2, a, kReal16Brain,
                   2, &zero, c, kReal32, 2, kInFloat, 0) == 0);
  REQUIRE(copy(wide, c, sizeof wide, kFromDevice) == 0);
  REQUIRE(wide[0] == 10 && wide[1] == 14 && wide[2] == 14 && wide[3] == 20);
  REQUIRE(sum(handle, kTransposed, kNone, 2, 2, &one, c, 2, &zero, NULL, 2, a, 2) == 0);
  REQUIRE(sum(handle, kNone, kNone, 2, 2, &one, a, 2, &one, c, 2, a, 2) == 0);
  where[0] = where[1] = a, where[2] = c;
  REQUIRE(allocate(&da, 8) == 0 && allocate(&db, 8) == 0 && allocate(&dc, 8) == 0);
  REQUIRE(copy(da, &where[0], 8, kToDevice) == 0 && copy(db, &where[1], 8, kToDevice) == 0);
  REQUIRE(copy(dc, &where[2], 8, kToDevice) == 0);
  REQUIRE(batch(handle, kNone, kNone, 2, 2, 2, &one, da, 2, db, 2, &zero, dc, 2, 1) == 0);
  REQUIRE(copy(wide, c, sizeof wide, kFromDevice) == 0);
  REQUIRE(wide[0] == 20 * 20 + 28 * 28 && wide[1] == 28 * 20 + 40 * 28);
  REQUIRE(release(a) == 0 && release(c) == 0);
  REQUIRE(release(da) == 0 && release(db) == 0 && release(dc) == 0);
}

static void* pair; /* 1 and 2 on the device */

/* cuBLAS is the first that the thread calls, so the thread has no context yet. */
static void* first_in_thread(void* handle) {
  float sum = 0;
  int (*dot)(void*, int, const void*, int, const void*, int, float*) = 0;
  *(void**)&dot = find("cublasSdot_v2");
  REQUIRE(dot(handle, 2, pair, 1, pair, 1, &sum) == 0 && sum == 5);
  return NULL;
}

static void threads(void* handle) {
  const float numbers[] = {1, 2};
  pthread_t thread;
  REQUIRE(allocate(&pair, sizeof numbers) == 0);
  REQUIRE(copy(pair, numbers, sizeof numbers, kToDevice) == 0);
  REQUIRE(pthread_create(&thread, NULL, first_in_thread, handle) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0 && release(pair) == 0);
}

int main(int count, char** words) {
  const int launches = count > 1 ? atoi(words[1]) : 0;
  int (*start)(int*) = 0;
  *(void**)&start = find("cudaGetDeviceCount");
  int (*wait)(void) = 0;
  *(void**)&wait = find("cudaDeviceSynchronize");
  int (*create)(void**) = 0;
  *(void**)&create = find("cublasCreate_v2");
  int (*destroy)(void*) = 0;
  *(void**)&destroy = find("cublasDestroy_v2");
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
  reductions(handle);
  short_types(handle);
  threads(handle);
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
