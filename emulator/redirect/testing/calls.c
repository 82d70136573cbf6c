// SPDX-License-Identifier: Apache-2.0
// Calls of a runtime that is linked in: from a constructor, and then by make_calls(). Each result
// is checked here, because a process in which one function is entered does not live.
#include "calls.h"

#include <stdio.h>
#include <string.h>

int cudaGetDeviceCount(int* count);
int cudaRuntimeGetVersion(int* version);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
int cudaDeviceSynchronize(void);
int cudaMalloc(void** pointer, unsigned long size);
int cudaFree(void* pointer);
int cudaFreeHost(void* pointer);
int cudaOfTomorrow(int number);
const char* cudaGetErrorName(int error);
// NOLINTBEGIN(bugprone-reserved-identifier): the runtime's names
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaUnregisterFatBinary(void** handle);
int __cudaRegisterLinkedBinary_12ab_6_own_cu(void);
// NOLINTEND(bugprone-reserved-identifier)

// A program's own function may have a name that begins so.
__attribute__((noinline)) static int cudaCheck(int result) {
  __asm__ volatile("");
  return result;
}

static int wrapper[6];
static void** handle;

// nvcc's start-up code calls here.
__attribute__((constructor)) static void register_code(void) {
  handle = __cudaRegisterFatBinary(wrapper);
}
__attribute__((destructor)) static void end(void) { __cudaUnregisterFatBinary(handle); }

#define REQUIRE(condition)                                        \
  do {                                                            \
    if (!(condition)) return fprintf(stderr, "%s\n", #condition); \
  } while (0)

int make_calls(void) {
  enum { kNotSupported = 801 };
  int count = 0, version = 0;
  void* pointer = 0;
  REQUIRE(handle != 0);
  REQUIRE(cudaCheck(cudaRuntimeGetVersion(&version)) == 0);
  REQUIRE(version / 1000 == IMITATION);
  REQUIRE(cudaGetDeviceCount(&count) == 0 && count == 2);
  REQUIRE(cudaMalloc(&pointer, 100) == 0 && pointer != 0);
  REQUIRE(cudaDeviceSynchronize() == 0);
  REQUIRE(cudaFree(pointer) == 0 && cudaFreeHost(0) == 0);
  REQUIRE(cudaOfTomorrow(3) == kNotSupported && cudaOfTomorrow(3) == kNotSupported);
  REQUIRE(cudaPeekAtLastError() == kNotSupported);
  REQUIRE(cudaGetLastError() == kNotSupported);
  REQUIRE(cudaGetLastError() == 0);
  REQUIRE(__cudaRegisterLinkedBinary_12ab_6_own_cu() == 78);
  REQUIRE(strcmp(cudaGetErrorName(kNotSupported), "cudaErrorNotSupported") == 0);
  return 0;
}
