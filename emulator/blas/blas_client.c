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

int main(int count, char** words) {
  const int launches = count > 1 ? atoi(words[1]) : 0;
  int (*start)(int*) = (int (*)(int*))find("cudaGetDeviceCount");
  int (*context)(void*) = (int (*)(void*))find("cudaFree");
  int (*wait)(void) = (int (*)(void))find("cudaDeviceSynchronize");
  int (*create)(void**) = (int (*)(void**))find("cublasCreate_v2");
  int (*destroy)(void*) = (int (*)(void*))find("cublasDestroy_v2");
  int (*multiply)(void*, int, int, int, int, int, const float*, const void*, int, const void*, int,
                  const float*, void*, int) =
      (int (*)(void*, int, int, int, int, int, const float*, const void*, int, const void*, int,
               const float*, void*, int))find("cublasSgemm_v2");
  int devices = 0;
  const float one = 1;
  void* handle = NULL;
  REQUIRE(create(NULL) == 7);
  REQUIRE(create(&handle) == 0 && handle);
  REQUIRE(start(&devices) == 0 && context(NULL) == 0);
  settings(handle);
  for (int i = 0; i < launches; ++i) {
    REQUIRE(multiply(handle, 0, 0, 2, 2, 2, &one, NULL, 2, NULL, 2, &one, NULL, 2) == 0);
  }
  REQUIRE(wait() == 0); /* late streams compute only here */
  REQUIRE(multiply(NULL, 0, 0, 2, 2, 2, &one, NULL, 2, NULL, 2, &one, NULL, 2) == 1);
  REQUIRE(destroy(handle) == 0);
  puts("PASSED");
  return 0;
}
