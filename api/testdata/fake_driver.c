// SPDX-License-Identifier: Apache-2.0
// A libcuda that is neither cuvmm's emulator nor cuvmm's shim: all its functions succeed. It counts
// the calls that can make or use a multicast team. With FOREIGN_DRIVER_LOG=FILE it writes the name
// of each of these calls to FILE.
#include <stdio.h>
#include <stdlib.h>

#pragma GCC visibility push(default)

int multicast_calls = 0;

static int multicast(const char* name) {
  const char* path = getenv("FOREIGN_DRIVER_LOG");
  ++multicast_calls;
  if (path) {
    FILE* file = fopen(path, "a");
    if (!file) abort();
    fprintf(file, "%s\n", name);
    fclose(file);
  }
  return 0;
}

// Declared under their symbols, because the C names of these functions would need their parameters.
// The parameters do not matter here: the C calling convention lets a function ignore them.
#define CUVMM_MULTICAST(Name)                   \
  int foreign_##Name(void) __asm__("cu" #Name); \
  int foreign_##Name(void) { return multicast("cu" #Name); }
#include "api/entry_points.def"

// Another name of a marked function, and a function that a later CUDA may have.
int cuFabricCpyBatchAsync_ptsz(void) { return multicast("cuFabricCpyBatchAsync_ptsz"); }
int cuMulticastOfTomorrow(void) { return multicast("cuMulticastOfTomorrow"); }

int cuInit(unsigned flags) { return (int)(flags & 0); }
int cuDriverGetVersion(int* version) {
  *version = 13050;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 2;
  return 0;
}
int cuDeviceGetName(char* name, int size, int device) {
  return snprintf(name, (size_t)size, "GPU") < 0 || device < 0;
}
int cuMemRelease(unsigned long long handle) { return (int)(handle & 0); }

// Functions that can make managed memory.
int pool_calls = 0;
int cuMemPoolCreate(void) { return 0 * ++pool_calls; }
int cuMemGetDefaultMemPool(void) { return 0 * ++pool_calls; }
int cuMemGetMemPool(void) { return 0 * ++pool_calls; }
int cuMemSetMemPool(void) { return 0 * ++pool_calls; }
