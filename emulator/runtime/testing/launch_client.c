// SPDX-License-Identifier: Apache-2.0
/* What nvcc makes of `kernel<<<2, 32>>>(&value)`, by hand; then, like many a sample, it never looks
 * at what the kernel computed. arguments: how often it launches, and how it ends. */
#include "emulator/runtime/testing/cudart.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct extent {
  unsigned x, y, z;
};
unsigned __cudaPushCallConfiguration(struct extent grid, struct extent block, size_t shared,
                                     cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(struct extent* grid, struct extent* block, size_t* shared,
                                       void* stream);
#if !__has_include(<crt/host_defines.h>)
cudaError_t cudaLaunchKernel(const void* function, struct extent grid, struct extent block,
                             void** arguments, size_t shared, cudaStream_t stream);
#else
cudaError_t launch(const void* function, struct extent grid, struct extent block, void** arguments,
                   size_t shared, cudaStream_t stream) __asm__("cudaLaunchKernel");
#define cudaLaunchKernel launch
#endif

/* The host's side of a kernel. */
static cudaError_t kernel(int* value) {
  struct extent grid = {0, 0, 0}, block = {0, 0, 0};
  size_t shared = 0;
  cudaStream_t stream;
  void* arguments[] = {&value};
  const cudaError_t error = __cudaPopCallConfiguration(&grid, &block, &shared, &stream);
  if (error != cudaSuccess) return error;
  return cudaLaunchKernel((const void*)kernel, grid, block, arguments, shared, stream);
}

static int run(int launches) {
  const struct extent grid = {2, 1, 1}, block = {32, 1, 1}, none = {0, 1, 1};
  int value = 0;
  for (int i = 0; i < launches; ++i) {
    if (__cudaPushCallConfiguration(grid, block, 0, NULL) != 0 || kernel(&value) != cudaSuccess) {
      return 1;
    }
  }
  /* What a driver refuses is no launch. */
  if (cudaLaunchKernel(NULL, grid, block, NULL, 0, NULL) == cudaSuccess) return 1;
  if (cudaLaunchKernel((const void*)kernel, none, block, NULL, 0, NULL) == cudaSuccess) return 1;
  if (__cudaPopCallConfiguration(NULL, NULL, NULL, NULL) == cudaSuccess) return 1;
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}

int main(int count, char** words) {
  const char* end = count > 2 ? words[2] : "pass";
  if (strcmp(end, "fork") == 0) { /* before the parent uses the driver */
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
      run(atoi(words[1]));
      raise(SIGKILL);
    }
    waitpid(child, &status, 0);
  }
  if (count < 2 || run(atoi(words[1])) != 0) return 1;
  puts("PASSED");
  return strcmp(end, "fail") == 0 ? 3 : 0;
}
