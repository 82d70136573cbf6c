// SPDX-License-Identifier: Apache-2.0
/* Memory of other processes and other APIs, through the runtime API. Exit code 77 where the driver
   below does not support it at all. usage: sharing_client external|ipc */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulator/runtime/testing/cudart.h"

#define WANT(condition)                                              \
  do {                                                               \
    if (!(condition)) {                                              \
      fprintf(stderr, "line %d: wanted " #condition "\n", __LINE__); \
      return 1;                                                      \
    }                                                                \
  } while (0)
#define OK(call) WANT((call) == cudaSuccess)

enum { kSkip = 77, kSize = 2 << 20, kLazyPeerAccess = 1, kNoTiming = 2, kInterprocess = 4 };

static CUresult (*mem_create)(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*,
                              unsigned long long);
static CUresult (*mem_export)(void*, CUmemGenericAllocationHandle, CUmemAllocationHandleType,
                              unsigned long long);
static CUresult (*mem_release)(CUmemGenericAllocationHandle);

static int find_functions(void) {
  OK(cudaGetDriverEntryPointByVersion("cuMemCreate", (void**)&mem_create, 10020, 0, NULL));
  OK(cudaGetDriverEntryPointByVersion("cuMemExportToShareableHandle", (void**)&mem_export, 10020, 0,
                                      NULL));
  OK(cudaGetDriverEntryPointByVersion("cuMemRelease", (void**)&mem_release, 10020, 0, NULL));
  WANT(mem_create && mem_export && mem_release);
  return 0;
}

/* An exported allocation comes back as external memory; two buffers of it alias. */
static int external(void) {
  CUmemAllocationProp prop;
  CUmemGenericAllocationHandle handle;
  struct cudaExternalMemoryHandleDesc desc;
  struct cudaExternalMemoryBufferDesc whole, half;
  cudaExternalMemory_t memory;
  void *first = NULL, *second = NULL, *beyond = NULL;
  int fd = -1, word = 0;
  const int value = 4711;
  cudaError_t error;
  if (find_functions()) return 1;
  memset(&prop, 0, sizeof prop);
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  OK(cudaFree(NULL));
  WANT(mem_create(&handle, kSize, &prop, 0) == CUDA_SUCCESS);
  WANT(mem_export(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS);
  memset(&desc, 0, sizeof desc);
  desc.type = cudaExternalMemoryHandleTypeOpaqueFd;
  desc.handle.fd = fd;
  desc.size = kSize;
  error = cudaImportExternalMemory(&memory, &desc);
  if (error == cudaErrorNotSupported) return kSkip;
  OK(error); /* the descriptor is the driver's from here on */
  memset(&whole, 0, sizeof whole);
  whole.size = kSize;
  half = whole;
  half.offset = half.size = kSize / 2;
  OK(cudaExternalMemoryGetMappedBuffer(&first, memory, &whole));
  OK(cudaExternalMemoryGetMappedBuffer(&second, memory, &half));
  OK(cudaMemcpy((char*)first + kSize / 2, &value, sizeof value, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(&word, second, sizeof word, cudaMemcpyDeviceToHost));
  WANT(word == value);
  half.size = kSize;
  WANT(cudaExternalMemoryGetMappedBuffer(&beyond, memory, &half) != cudaSuccess);
  OK(cudaFree(second));
  OK(cudaFree(first));
  OK(cudaDestroyExternalMemory(memory));
  WANT(mem_release(handle) == CUDA_SUCCESS);
  return 0;
}

struct Message {
  cudaError_t error;
  cudaIpcMemHandle_t memory;
  cudaIpcEventHandle_t event;
};

/* The other process: reads what the first one wrote, and answers in the same memory. */
static int import(int from) {
  struct Message message;
  cudaEvent_t event;
  void* pointer = NULL;
  int word = 0;
  WANT(read(from, &message, sizeof message) == sizeof message);
  if (message.error != cudaSuccess) return 0;
  OK(cudaIpcOpenMemHandle(&pointer, message.memory, kLazyPeerAccess));
  OK(cudaIpcOpenEventHandle(&event, message.event));
  OK(cudaEventSynchronize(event));
  OK(cudaMemcpy(&word, pointer, sizeof word, cudaMemcpyDeviceToHost));
  WANT(word == 0x11111111);
  OK(cudaMemset(pointer, 0x22, sizeof word));
  OK(cudaEventDestroy(event));
  OK(cudaIpcCloseMemHandle(pointer));
  WANT(cudaIpcCloseMemHandle(pointer) == cudaErrorInvalidValue);
  memset(&message.memory, 0x5a, sizeof message.memory);
  WANT(cudaIpcOpenMemHandle(&pointer, message.memory, kLazyPeerAccess) != cudaSuccess);
  return 0;
}

static int export_to(int to, pid_t importer) {
  struct Message message;
  cudaEvent_t event;
  void *pointer = NULL, *again = NULL;
  int word = 0, status = 0;
  memset(&message, 0, sizeof message);
  OK(cudaMalloc(&pointer, kSize));
  OK(cudaMemset(pointer, 0x11, kSize));
  OK(cudaEventCreateWithFlags(&event, kInterprocess | kNoTiming));
  OK(cudaEventRecord(event, NULL));
  message.error = cudaIpcGetMemHandle(&message.memory, pointer);
  if (message.error == cudaSuccess) OK(cudaIpcGetEventHandle(&message.event, event));
  WANT(write(to, &message, sizeof message) == sizeof message);
  WANT(waitpid(importer, &status, 0) == importer && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  if (message.error == cudaErrorNotSupported) return kSkip;
  OK(message.error);
  OK(cudaMemcpy(&word, pointer, sizeof word, cudaMemcpyDeviceToHost));
  WANT(word == 0x22222222);
  /* Measured on an H200: the exporting process cannot open its own. */
  WANT(cudaIpcOpenMemHandle(&again, message.memory, kLazyPeerAccess) ==
       cudaErrorDeviceUninitialized);
  /* The same library, of several that may be loaded, remembers it. */
  WANT(cudaGetLastError() == cudaErrorDeviceUninitialized);
  OK(cudaEventDestroy(event));
  OK(cudaFree(pointer));
  return 0;
}

static int ipc(void) {
  int ends[2];
  pid_t importer;
  WANT(pipe(ends) == 0);
  importer = fork(); /* before either uses CUDA */
  WANT(importer >= 0);
  if (importer == 0) _exit(import(ends[0]));
  return export_to(ends[1], importer);
}

int main(int count, char** arguments) {
  WANT(count == 2);
  return strcmp(arguments[1], "external") == 0 ? external() : ipc();
}
