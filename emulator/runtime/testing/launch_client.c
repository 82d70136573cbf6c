// SPDX-License-Identifier: Apache-2.0
/* What nvcc makes of `kernel<<<2, 32>>>(&value)`, by hand; then, like many a sample, it never looks
 * at what the kernel computed. arguments: how often it launches, and how it ends; "capture": the
 * launches are captured, and their graph is launched twice. */
#include "emulator/runtime/testing/cudart.h"
#include "emulator/runtime/testing/fat_binary.h"

#include <signal.h>
#include <stdint.h>
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

/* The start-up code of a program that was compiled for other GPUs than the emulated one. */
void** register_binary(const void* wrapper) __asm__("__cudaRegisterFatBinary");
void register_function(void** binary, const void* function, const char* name, const char* again,
                       int threads, void*, void*, void*, void*,
                       int*) __asm__("__cudaRegisterFunction");
int attributes(void* out, const void* function) __asm__("cudaFuncGetAttributes");

static const char kEmptyKernel[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry kernel() { ret; }\n";

/* Prints the versions of the code that the GPU would run, of PTX for 5.2 and 7.5 and machine code
 * for 7.5; then of a kernel that nobody registered. */
static int versions(void) {
  static struct fat_binary binary;
  add_code(&binary, kPtx, 52, kEmptyKernel);
  add_code(&binary, kPtx, 75, kEmptyKernel);
  add_code(&binary, kMachineCode, 75, "");
  static struct fat_wrapper wrapper;
  wrap(&wrapper, &binary);
  register_function(register_binary(&wrapper), (const void*)kernel, "kernel", "kernel", -1, NULL,
                    NULL, NULL, NULL, NULL);
  struct {
    size_t sizes[3];
    int threads, registers, ptx, code, rest[64];
  } of;
  for (int i = 0; i < 2; ++i) {
    if (attributes(&of, i == 0 ? (const void*)kernel : (const void*)versions) != 0) return 1;
    printf("%d %s\n", of.ptx, of.code == of.ptx ? "same" : "newer");
  }
  return 0;
}

/* Its types and constants are other in each header, or are not there at all. */
int begin_capture(cudaStream_t stream, int mode) __asm__("cudaStreamBeginCapture");
int end_capture(cudaStream_t stream, CUgraph* graph) __asm__("cudaStreamEndCapture");
int instantiate(CUgraphExec* made, CUgraph graph,
                unsigned long long) __asm__("cudaGraphInstantiate");
int launch_graph(CUgraphExec graph, cudaStream_t stream) __asm__("cudaGraphLaunch");
int end_executable(CUgraphExec graph) __asm__("cudaGraphExecDestroy");
int end_graph(CUgraph graph) __asm__("cudaGraphDestroy");

static int capture(int launches) {
  const struct extent one = {1, 1, 1};
  int value = 0;
  void* arguments[] = {&value};
  cudaStream_t stream = NULL;
  CUgraph graph = NULL;
  CUgraphExec executable = NULL;
  if (cudaStreamCreate(&stream) != cudaSuccess || begin_capture(stream, 0) != 0) return 1;
  for (int i = 0; i < launches; ++i) {
    if (cudaLaunchKernel((const void*)kernel, one, one, arguments, 0, stream) != cudaSuccess) {
      return 1;
    }
  }
  if (end_capture(stream, &graph) != 0 || instantiate(&executable, graph, 0) != 0) return 1;
  for (int i = 0; i < 2; ++i) {
    if (launch_graph(executable, stream) != 0) return 1;
  }
  if (cudaStreamSynchronize(stream) != cudaSuccess) return 1;
  return end_executable(executable) != 0 || end_graph(graph) != 0 ||
         cudaStreamDestroy(stream) != cudaSuccess;
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
  if (strcmp(end, "versions") == 0) return versions();
  if (strcmp(end, "capture") == 0) {
    if (capture(atoi(words[1])) != 0) return 1;
    puts("PASSED");
    return 0;
  }
  if (count < 2 || run(atoi(words[1])) != 0) return 1;
  puts("PASSED");
  return strcmp(end, "fail") == 0 ? 3 : 0;
}
