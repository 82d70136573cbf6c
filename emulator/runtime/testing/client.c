// SPDX-License-Identifier: Apache-2.0
/* A C program of the runtime API, linked to libcudart.so.CLIENT_MAJOR: what a small program does,
 * and what it does wrong. */
#include "emulator/runtime/testing/cudart.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WANT(condition)                                              \
  do {                                                               \
    if (!(condition)) {                                              \
      fprintf(stderr, "line %d: wanted " #condition "\n", __LINE__); \
      return 1;                                                      \
    }                                                                \
  } while (0)
#define OK(call) WANT((call) == cudaSuccess)

enum { kBytes = 1 << 16 };

/* By the name that the library has, whatever the header calls it: the structure of CUDA 12 is
   another than that of 13. Bytes here. */
#if CLIENT_MAJOR == 12
cudaError_t get_properties(void* properties, int device) __asm__("cudaGetDeviceProperties_v2");
enum {
  kPropertyBytes = 1032,
  kMajorAt = 360,
  kProcessorsAt = 388,
  kIpcEventsAt = 768,
  kIpcEvents = 125
};
#else
cudaError_t get_properties(void* properties, int device) __asm__("cudaGetDeviceProperties");
enum {
  kPropertyBytes = 1008,
  kMajorAt = 360,
  kProcessorsAt = 384,
  kIpcEventsAt = 744,
  kIpcEvents = 125
};
#endif

static int devices(void) {
  int count = 0, device = -1, version = 0, value = 0, field = 0;
  unsigned char properties[kPropertyBytes + 1];
  OK(cudaGetDeviceCount(&count));
  WANT(count == 2);
  OK(cudaGetDevice(&device));
  WANT(device == 0);
  WANT(cudaSetDevice(2) == cudaErrorInvalidDevice);
  WANT(cudaGetLastError() == cudaErrorInvalidDevice);
  OK(cudaSetDevice(1));
  OK(cudaGetDevice(&device));
  WANT(device == 1);
  OK(cudaRuntimeGetVersion(&version));
  WANT(version / 1000 == CLIENT_MAJOR);
  OK(cudaDriverGetVersion(&version));
  WANT(version >= 12000);
  OK(cudaDeviceCanAccessPeer(&value, 0, 1));
  WANT(value == 1);

  memset(properties, 0xee, sizeof properties);
  OK(get_properties(properties, 1));
  WANT(properties[kPropertyBytes] == 0xee && properties[kPropertyBytes - 1] == 0);
  WANT(properties[0] != 0 && memchr(properties, 0, 256) != NULL);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 1));
  memcpy(&field, properties + kMajorAt, sizeof field);
  WANT(value > 0 && field == value);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 1));
  memcpy(&field, properties + kProcessorsAt, sizeof field);
  WANT(value > 0 && field == value);
  OK(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)kIpcEvents, 1));
  memcpy(&field, properties + kIpcEventsAt, sizeof field);
  WANT(value > 0 && field == value);
  OK(cudaSetDevice(0));
  return 0;
}

static int memory(void) {
  static unsigned char in[kBytes], out[kBytes];
  struct cudaPointerAttributes attributes;
  void *device = NULL, *peer = NULL, *host = NULL, *async = NULL;
  size_t unused = 0, total = 0;
  cudaStream_t stream;
  for (int i = 0; i < kBytes; ++i) in[i] = (unsigned char)(i * 7 + 1);
  OK(cudaMalloc(&device, kBytes));
  OK(cudaMemGetInfo(&unused, &total));
  WANT(total > 0 && unused < total);
  OK(cudaMemset(device, 0x5a, kBytes));
  OK(cudaMemcpy((char*)device + 1, in, kBytes - 1, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(out, device, kBytes, cudaMemcpyDeviceToHost));
  WANT(out[0] == 0x5a && memcmp(out + 1, in, kBytes - 1) == 0);
  WANT(cudaMemcpy(out, device, kBytes, (enum cudaMemcpyKind)9) == cudaErrorInvalidMemcpyDirection);

  OK(cudaPointerGetAttributes(&attributes, (char*)device + 5));
  WANT(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
  OK(cudaPointerGetAttributes(&attributes, in));
  WANT(attributes.type == cudaMemoryTypeUnregistered && attributes.hostPointer == in);

  OK(cudaStreamCreate(&stream));
  OK(cudaMallocHost(&host, kBytes));
  OK(cudaMallocAsync(&async, kBytes, stream));
  OK(cudaMemsetAsync(async, 0x11, kBytes, stream));
  OK(cudaMemcpyAsync(async, device, kBytes / 2, cudaMemcpyDefault, stream));
  OK(cudaMemcpyAsync(host, async, kBytes, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  WANT(memcmp(host, out, kBytes / 2) == 0 && ((unsigned char*)host)[kBytes - 1] == 0x11);
  OK(cudaFreeAsync(async, stream));
  OK(cudaStreamDestroy(stream));
  OK(cudaFreeHost(host));

  OK(cudaDeviceEnablePeerAccess(1, 0));
  OK(cudaSetDevice(1));
  OK(cudaMalloc(&peer, kBytes));
  OK(cudaMemcpyPeer(peer, 1, device, 0, kBytes));
  memset(out, 0, kBytes);
  OK(cudaMemcpy(out, peer, kBytes, cudaMemcpyDefault));
  WANT(memcmp(out + 1, in, kBytes - 1) == 0);
  OK(cudaFree(peer));
  OK(cudaSetDevice(0));
  OK(cudaFree(device));
  OK(cudaFree(NULL));
  OK(cudaDeviceSynchronize());
  return 0;
}

static int events(void) {
  cudaEvent_t start, end;
  float milliseconds = -1;
  OK(cudaEventCreate(&start));
  OK(cudaEventCreate(&end));
  OK(cudaEventRecord(start, NULL));
  OK(cudaEventRecord(end, NULL));
  OK(cudaEventSynchronize(end));
  OK(cudaEventElapsedTime(&milliseconds, start, end));
  WANT(milliseconds >= 0);
  OK(cudaEventDestroy(end));
  WANT(cudaEventDestroy(end) == cudaErrorInvalidResourceHandle);
  OK(cudaEventDestroy(start));
  return 0;
}

static int errors(void) {
  cudaGetLastError();
  cudaEvent_t event = NULL;
  WANT(cudaEventCreateWithFlags(&event, 1u << 20) == cudaErrorInvalidValue);
  OK(cudaFree(NULL));
  WANT(cudaPeekAtLastError() == cudaErrorInvalidValue);
  WANT(cudaGetLastError() == cudaErrorInvalidValue);
  OK(cudaGetLastError());
  WANT(strcmp(cudaGetErrorName(cudaErrorInvalidResourceHandle), "cudaErrorInvalidResourceHandle") ==
       0);
  WANT(strcmp(cudaGetErrorString(cudaErrorInvalidResourceHandle), "invalid resource handle") == 0);
  // The driver's words where it knows the code, else the name's.
  WANT(strcmp(cudaGetErrorString(cudaSuccess), "no error") == 0);
  WANT(strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument") == 0);
  WANT(strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
  WANT(strcmp(cudaGetErrorString(cudaErrorPeerAccessNotEnabled),
              "peer access has not been enabled") == 0);
  WANT(strcmp(cudaGetErrorString(cudaErrorInvalidPitchValue), "invalid pitch value") == 0);
  WANT(strcmp(cudaGetErrorName((cudaError_t)54321), "unrecognized error code") == 0);
  WANT(cudaDeviceGetNvSciSyncAttributes(NULL, 0, 0) == cudaErrorNotSupported);
  WANT(cudaDeviceGetNvSciSyncAttributes(NULL, 0, 0) == cudaErrorNotSupported);
  WANT(cudaGetLastError() == cudaErrorNotSupported);
  return 0;
}

/* The VMM API has no runtime form: programs come to it like this. */
static int entry_points(void) {
  CUresult (*reserve)(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long) = NULL;
  CUresult (*release)(CUdeviceptr, size_t) = NULL;
  void* missing = &missing;
  CUdeviceptr address = 0;
  enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  OK(cudaGetDriverEntryPointByVersion("cuMemAddressReserve", (void**)&reserve, 10020, 0, &status));
  WANT(reserve != NULL && status == cudaDriverEntryPointSuccess);
  OK(cudaGetDriverEntryPointByVersion("cuMemAddressFree", (void**)&release, 10020, 0, NULL));
  WANT(reserve(&address, 2 << 20, 0, 0, 0) == CUDA_SUCCESS);
  WANT(release(address, 2 << 20) == CUDA_SUCCESS);
  OK(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &missing, 13000, 0, &status));
  WANT(missing == NULL && status == cudaDriverEntryPointSymbolNotFound);
  WANT(cudaGetDriverEntryPointByVersion("cuInit", &missing, 2000, 77, NULL) ==
       cudaErrorInvalidValue);
  return 0;
}

static int reset(void) {
  void* pointer = NULL;
  CUresult (*get_current)(CUcontext*) = NULL;
  CUcontext context = NULL;
  OK(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", (void**)&get_current, 4000, 0, NULL));
  OK(cudaMalloc(&pointer, kBytes));
  OK(cudaDeviceReset());
  WANT(get_current(&context) == CUDA_SUCCESS && context == NULL);
  WANT(cudaMemset(pointer, 0, kBytes) == cudaErrorInvalidValue);
  OK(cudaMalloc(&pointer, kBytes));
  WANT(get_current(&context) == CUDA_SUCCESS && context != NULL);
  OK(cudaFree(pointer));
  return 0;
}

/* Graphs have the driver's types in both headers; by these names no header has them twice. */
cudaError_t begin_capture(CUstream stream, int mode) __asm__("cudaStreamBeginCapture");
cudaError_t end_capture(CUstream stream, CUgraph* graph) __asm__("cudaStreamEndCapture");
cudaError_t graph_nodes(CUgraph graph, CUgraphNode* nodes,
                        size_t* count) __asm__("cudaGraphGetNodes");
cudaError_t node_type(CUgraphNode node, int* type) __asm__("cudaGraphNodeGetType");
cudaError_t instantiate(CUgraphExec* out, CUgraph graph,
                        unsigned long long flags) __asm__("cudaGraphInstantiate");
cudaError_t update(CUgraphExec executable, CUgraph graph,
                   CUgraphExecUpdateResultInfo* result) __asm__("cudaGraphExecUpdate");
cudaError_t launch(CUgraphExec executable, CUstream stream) __asm__("cudaGraphLaunch");
cudaError_t destroy(CUgraph graph) __asm__("cudaGraphDestroy");
cudaError_t destroy_executable(CUgraphExec executable) __asm__("cudaGraphExecDestroy");
#if CLIENT_MAJOR == 12
cudaError_t capture_info(CUstream stream, int* status, unsigned long long* id, CUgraph* graph,
                         const CUgraphNode** nodes,
                         size_t* count) __asm__("cudaStreamGetCaptureInfo_v2");
#define CAPTURE_INFO(status, graph) capture_info(stream, status, NULL, graph, NULL, NULL)
#else
cudaError_t capture_info(CUstream stream, int* status, unsigned long long* id, CUgraph* graph,
                         const CUgraphNode** nodes, const void** edges,
                         size_t* count) __asm__("cudaStreamGetCaptureInfo");
#define CAPTURE_INFO(status, graph) capture_info(stream, status, NULL, graph, NULL, NULL, NULL)
#endif

static int capture(cudaStream_t stream, void* to, int value, size_t size, CUgraph* graph) {
  enum { kRelaxed = 2, kActive = 1 };
  int status = 0;
  CUgraph current = NULL;
  OK(begin_capture(stream, kRelaxed));
  OK(cudaMemsetAsync(to, value, size, stream));
  OK(CAPTURE_INFO(&status, &current));
  WANT(status == kActive && current != NULL);
  OK(end_capture(stream, graph));
  return 0;
}

static int graphs(void) {
  enum { kMemset = 2, kUpdateFailure = 910 };
  void* pointer = NULL;
  cudaStream_t stream = NULL;
  CUgraph first = NULL, second = NULL, longer = NULL;
  CUgraphExec executable = NULL;
  CUgraphNode node = NULL;
  CUgraphExecUpdateResultInfo result;
  size_t count = 1;
  int type = -1;
  unsigned char byte = 0;
  OK(cudaMalloc(&pointer, kBytes));
  OK(cudaStreamCreate(&stream));
  if (capture(stream, pointer, 3, kBytes, &first)) return 1;
  if (capture(stream, pointer, 5, kBytes, &second)) return 1;
  OK(graph_nodes(first, &node, &count));
  WANT(count == 1);
  OK(node_type(node, &type));
  WANT(type == kMemset);
  OK(instantiate(&executable, first, 0));
  OK(update(executable, second, &result));
  WANT(result.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
  OK(launch(executable, stream));
  OK(cudaStreamSynchronize(stream));
  OK(cudaMemcpy(&byte, pointer, 1, cudaMemcpyDeviceToHost));
  WANT(byte == 5);
  OK(begin_capture(stream, 2));
  OK(end_capture(stream, &longer));
  WANT((int)update(executable, longer, &result) == kUpdateFailure);
  WANT(result.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  WANT((int)cudaGetLastError() == kUpdateFailure);
  OK(destroy_executable(executable));
  OK(destroy(first));
  OK(destroy(second));
  OK(destroy(longer));
  OK(cudaStreamDestroy(stream));
  OK(cudaFree(pointer));
  return 0;
}

/* What nvcc's code does before main and after it: the program must start. */
void** __cudaRegisterFatBinary(void* binary);
void __cudaRegisterFatBinaryEnd(void** module);
void __cudaUnregisterFatBinary(void** module);
static int modules(void) {
  void** module = __cudaRegisterFatBinary(NULL);
  WANT(module != NULL);
  __cudaRegisterFatBinaryEnd(module);
  __cudaUnregisterFatBinary(module);
  return 0;
}

int main(void) {
  return devices() || memory() || events() || errors() || entry_points() || graphs() || reset() ||
         modules();
}
