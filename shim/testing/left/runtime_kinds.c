/* SPDX-License-Identifier: Apache-2.0 */
/* A program of the runtime API that frees all objects (no argument), or keeps some. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Declared here, because the runtime's header may not be installed. */
typedef void* cudaStream_t;
int cudaMalloc(void** memory, size_t bytes);
int cudaFree(void* memory);
int cudaMemcpy(void* to, const void* from, size_t bytes, int kind);
int cudaStreamCreate(cudaStream_t* stream);
int cudaStreamDestroy(cudaStream_t stream);
enum { kHostToDevice = 1 };

static void must(int error) {
  if (error == 0) return;
  fprintf(stderr, "a legal call was refused: %d\n", error);
  exit(70);
}

__attribute__((noinline)) void* weights(void) {
  void* memory = NULL;
  must(cudaMalloc(&memory, 3 << 20));
  return memory;
}
__attribute__((noinline)) cudaStream_t queue(void) {
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  return stream;
}

int main(int count, char** arguments) {
  char bytes[16] = {0};
  void* const memory = weights();
  const cudaStream_t stream = queue();
  must(cudaMemcpy(memory, bytes, sizeof bytes, kHostToDevice));
  if (count > 2) {
    printf("ready\n");
    fflush(stdout);
    (void)getchar();
  }
  (void)arguments;
  if (count > 1) return 0;
  must(cudaStreamDestroy(stream));
  must(cudaFree(memory));
  return 0;
}
