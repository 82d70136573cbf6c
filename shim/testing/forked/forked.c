/* SPDX-License-Identifier: Apache-2.0 */
/* forked CALL ENDING STATUS: a child that is forked after its parent's cuInit makes one call of
   CUDA, and ends as ENDING says. The program ends with STATUS. forked_test.py has the cases. */
#include <cuda.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "a legal call was refused: %d\n", result);
  _exit(70);
}

static void use_driver(void) {
  CUdevice device = 0;
  CUcontext context = NULL;
  CUdeviceptr memory = 0;
  must(cuInit(0));
  must(cuDeviceGet(&device, 0));
  must(cuDevicePrimaryCtxRetain(&context, device));
  must(cuCtxSetCurrent(context));
  must(cuMemAlloc(&memory, 4096));
  must(cuMemFree(memory));
  must(cuDevicePrimaryCtxRelease(device));
}

/* The runtime is loaded when it is needed, so that it makes no other call. */
static int (*runtime_function(const char* name))(int*) {
  void* const runtime = dlopen("libcudart.so.13", RTLD_NOW);
  if (!runtime) fprintf(stderr, "%s\n", dlerror());
  return runtime ? (int (*)(int*))dlsym(runtime, name) : NULL;
}

static int call(const char* name, void* prepared) {
  int number = 0;
  CUcontext context = NULL;
  CUdeviceptr memory = 0;
  if (strcmp(name, "init") == 0) return cuInit(0);
  if (strcmp(name, "count") == 0) return cuDeviceGetCount(&number);
  if (strcmp(name, "device") == 0) return cuDeviceGet(&number, 0);
  if (strcmp(name, "current") == 0) return cuCtxGetCurrent(&context);
  if (strcmp(name, "retain") == 0) return cuDevicePrimaryCtxRetain(&context, 0);
  if (strcmp(name, "pointer") == 0)
    return cuPointerGetAttribute(&number, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&number);
  if (strcmp(name, "wait") == 0) return cuCtxSynchronize();
  if (strcmp(name, "alloc") == 0) return cuMemAlloc(&memory, 4096);
  if (strcmp(name, "runtime") == 0) return ((int (*)(int*))prepared)(&number);
  if (strcmp(name, "runtime-alloc") == 0) {
    void* runtime_memory = NULL;
    ((int (*)(int*))runtime_function("cudaGetDeviceCount"))(&number);
    return ((int (*)(void**, size_t))prepared)(&runtime_memory, 4096);
  }
  if (strcmp(name, "runtime-free") == 0) return ((int (*)(void*))prepared)(NULL);
  return 0; /* "nothing" */
}

static void leave(const char* ending) {
  fflush(stdout);
  if (strcmp(ending, "exit") == 0) exit(1);
  if (strcmp(ending, "_exit") == 0) _exit(1);
  if (strcmp(ending, "quick_exit") == 0) quick_exit(1);
  if (strcmp(ending, "handled") == 0) exit(0);
  if (strcmp(ending, "handled-at-once") == 0) _exit(0);
  for (;;) pause(); /* "killed", "terminated" */
}

int main(int count, char** words) {
  if (count < 4) return 71;
  const char* const ending = words[2];
  if (strcmp(words[1], "spawned") == 0) { /* the new program uses the driver */
    use_driver();
    return 0;
  }
  const int runtime = strncmp(words[1], "runtime", 7) == 0;
  const char* const function = strcmp(words[1], "runtime-alloc") == 0  ? "cudaMalloc"
                               : strcmp(words[1], "runtime-free") == 0 ? "cudaFree"
                                                                       : "cudaGetDeviceCount";
  void* const prepared = runtime ? (void*)runtime_function(function) : NULL;
  int number = 0;
  if (prepared) ((int (*)(int*))runtime_function("cudaGetDeviceCount"))(&number);
  int ready[2];
  if (pipe(ready) != 0) return 72;
  const int early = strcmp(ending, "early") == 0, alone = strcmp(ending, "alone") == 0;
  if (alone) return call(words[1], prepared) == 0 ? 0 : atoi(words[3]);
  if (!early) use_driver();
  const pid_t child = fork();
  if (child == 0) {
    if (early) {
      use_driver();
      exit(0);
    }
    if (strcmp(ending, "spawn") == 0) execl(words[0], words[0], "spawned", "-", "0", (char*)NULL);
    const int result = call(words[1], prepared);
    if (write(ready[1], &result, sizeof result) != sizeof result) _exit(73);
    leave(ending);
  }
  if (early) use_driver();
  close(ready[1]);
  int result = 0, status = 0;
  if (read(ready[0], &result, sizeof result) < 0) return 74;
  if (strcmp(ending, "killed") == 0) kill(child, SIGKILL);
  if (strcmp(ending, "terminated") == 0) kill(child, SIGTERM);
  if (waitpid(child, &status, 0) != child) return 75;
  printf("%d\n", result);
  return atoi(words[3]);
}
