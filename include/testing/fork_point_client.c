/* SPDX-License-Identifier: Apache-2.0 */
/* A program that `cuvmm fail --each --fork-server` forks at the program's fork point, for
   fork_point_test.py. Usage: fork_point_client FILE [point|thread|thread-may-go|none]. Appends
   "start" to FILE, and "run" after the fork point. Like PyTorch, it refuses to use CUDA in a child
   if its parent was about to use CUDA. */
#include <cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cuvmm/cuvmm.h"

static int bad_fork = 0;
static void in_child(void) { bad_fork = 1; }

static void* wait_for_ever(void* nothing) {
  for (;;) pause();
  return nothing;
}

static void note(const char* path, const char* what) {
  FILE* const file = fopen(path, "a");
  if (!file) return;
  fprintf(file, "%s\n", what);
  fclose(file);
}

/* Its error paths are correct: they free everything that the function made. */
static int use_memory(void) {
  const size_t bytes = (size_t)2 << 20;
  CUdeviceptr base = 0;
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp prop;
  int good = 0;
  memset(&prop, 0, sizeof prop);
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  if (cuMemAddressReserve(&base, bytes, 0, 0, 0) != CUDA_SUCCESS) return 0;
  if (cuMemCreate(&handle, bytes, &prop, 0) == CUDA_SUCCESS) {
    good = cuMemMap(base, bytes, 0, handle, 0) == CUDA_SUCCESS;
    if (good) cuMemUnmap(base, bytes);
    cuMemRelease(handle);
  }
  cuMemAddressFree(base, bytes);
  return good;
}

int main(int count, char** words) {
  const char* const path = count > 1 ? words[1] : "/dev/null";
  const char* const mode = count > 2 ? words[2] : "none";
  const int may_go = strcmp(mode, "thread-may-go") == 0;
  pthread_t thread;
  long forked = 0;
  note(path, "start");
  if (may_go || strcmp(mode, "thread") == 0) pthread_create(&thread, NULL, wait_for_ever, NULL);
  if (strcmp(mode, "none") != 0) {
    forked = cuvmm_fork_point(may_go ? CUVMM_FORK_THREADS : 0);
  }
  pthread_atfork(NULL, NULL, in_child);
  if (cuInit(0) != CUDA_SUCCESS) return 1;
  if (bad_fork) {
    puts("CUDA cannot be used in a forked process");
    return 1;
  }
  if (cuvmm_fork_point(0) != 0) return 1; /* there was one */
  note(path, "run");
  printf("forked: %ld\n", forked);
  return use_memory() ? 0 : 1;
}
