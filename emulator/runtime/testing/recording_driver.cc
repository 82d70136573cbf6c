// SPDX-License-Identifier: Apache-2.0
#pragma GCC visibility push(default)
#include "emulator/runtime/testing/recording_driver.h"

#include <cstring>

#include "api/newer/copies.h"

#undef cuGetProcAddress

namespace {

Recorded g_recorded;
const auto kPrimary = reinterpret_cast<CUcontext>(0xc0);
template <class Object>
Object made() {
  return reinterpret_cast<Object>(0xb1);
}

// In scope: recorded, and answered with what the test chose.
CUresult take(const char* name) {
  g_recorded.calls.emplace_back(name);
  return g_recorded.answer;
}

CUresult init(unsigned) { return CUDA_SUCCESS; }
CUresult device_get(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal < 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult device_count(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult retain(CUcontext* context, CUdevice) {
  g_recorded.calls.emplace_back("cuDevicePrimaryCtxRetain");
  *context = kPrimary;
  return CUDA_SUCCESS;
}
CUresult done(CUdevice) { return CUDA_SUCCESS; }
CUresult get_current(CUcontext* context) {
  *context = g_recorded.current;
  return CUDA_SUCCESS;
}
CUresult set_current(CUcontext context) {
  g_recorded.current = context;
  return CUDA_SUCCESS;
}
CUresult context_device(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult stream_query(CUstream) { return take("cuStreamQuery"); }
CUresult stream_query_per_thread(CUstream) { return take("cuStreamQuery_ptsz"); }

CUresult import_memory(CUexternalMemory* out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* desc) {
  g_recorded.memory = *desc;
  *out = made<CUexternalMemory>();
  return take("cuImportExternalMemory");
}
CUresult map_buffer(CUdeviceptr* out, CUexternalMemory memory,
                    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* desc) {
  g_recorded.object = memory;
  g_recorded.buffer = *desc;
  *out = kRecordedPointer;
  return take("cuExternalMemoryGetMappedBuffer");
}
CUresult map_array(CUmipmappedArray* out, CUexternalMemory memory,
                   const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* desc) {
  g_recorded.object = memory;
  g_recorded.array = *desc;
  *out = made<CUmipmappedArray>();
  return take("cuExternalMemoryGetMappedMipmappedArray");
}
CUresult destroy_memory(CUexternalMemory memory) {
  g_recorded.object = memory;
  return take("cuDestroyExternalMemory");
}
CUresult import_semaphore(CUexternalSemaphore* out,
                          const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* desc) {
  g_recorded.semaphore = *desc;
  *out = made<CUexternalSemaphore>();
  return take("cuImportExternalSemaphore");
}
CUresult ipc_get(CUipcMemHandle* out, CUdeviceptr pointer) {
  g_recorded.pointer = pointer;
  *out = g_recorded.ipc_memory;
  return take("cuIpcGetMemHandle");
}
CUresult ipc_open(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) {
  g_recorded.ipc_memory = handle;
  g_recorded.flags = flags;
  *out = kRecordedPointer;
  return take("cuIpcOpenMemHandle");
}
CUresult ipc_close(CUdeviceptr pointer) {
  g_recorded.pointer = pointer;
  return take("cuIpcCloseMemHandle");
}
CUresult ipc_get_event(CUipcEventHandle* out, CUevent event) {
  g_recorded.object = event;
  *out = g_recorded.ipc_event;
  return take("cuIpcGetEventHandle");
}
CUresult ipc_open_event(CUevent* out, CUipcEventHandle handle) {
  g_recorded.ipc_event = handle;
  *out = made<CUevent>();
  return take("cuIpcOpenEventHandle");
}

// The ABI of batches changed at 13.0.
CUresult batch_12(CUdeviceptr* to, CUdeviceptr*, size_t*, size_t, CUmemcpyAttributes*, size_t*,
                  size_t, size_t* failed, CUstream) {
  g_recorded.pointer = to[0];
  if (failed) *failed = 3;
  return take("cuMemcpyBatchAsync of 12.8");
}
CUresult batch_13(CUdeviceptr* to, CUdeviceptr*, size_t*, size_t, CUmemcpyAttributes*, size_t*,
                  size_t, CUstream) {
  g_recorded.pointer = to[0];
  return take("cuMemcpyBatchAsync of 13.0");
}

const struct {
  const char* name;
  void* function;
} kFunctions[] = {
#define FUNCTION(name, function) \
  { #name, reinterpret_cast < void*>(&function) }
    FUNCTION(cuInit, init),
    FUNCTION(cuDeviceGet, device_get),
    FUNCTION(cuDeviceGetCount, device_count),
    FUNCTION(cuDevicePrimaryCtxRetain, retain),
    FUNCTION(cuDevicePrimaryCtxRelease, done),
    FUNCTION(cuDevicePrimaryCtxReset, done),
    FUNCTION(cuCtxGetCurrent, get_current),
    FUNCTION(cuCtxSetCurrent, set_current),
    FUNCTION(cuCtxGetDevice, context_device),
    FUNCTION(cuStreamQuery, stream_query),
    FUNCTION(cuMemcpyBatchAsync, batch_13),
    FUNCTION(cuImportExternalMemory, import_memory),
    FUNCTION(cuExternalMemoryGetMappedBuffer, map_buffer),
    FUNCTION(cuExternalMemoryGetMappedMipmappedArray, map_array),
    FUNCTION(cuDestroyExternalMemory, destroy_memory),
    FUNCTION(cuImportExternalSemaphore, import_semaphore),
    FUNCTION(cuIpcGetMemHandle, ipc_get),
    FUNCTION(cuIpcOpenMemHandle, ipc_open),
    FUNCTION(cuIpcCloseMemHandle, ipc_close),
    FUNCTION(cuIpcGetEventHandle, ipc_get_event),
    FUNCTION(cuIpcOpenEventHandle, ipc_open_event),
};

}  // namespace

extern "C" Recorded* recorded_calls() { return &g_recorded; }

// The ABI of cuIpcOpenMemHandle changed at 11.0: only that one is answered.
extern "C" CUresult cuGetProcAddress_v2(const char* name, void** out, int version, cuuint64_t flags,
                                        CUdriverProcAddressQueryResult* status) {
  g_recorded.asked_version = version;
  g_recorded.asked_flags = flags;
  if (status) *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (const auto& known : kFunctions) {
    if (std::strcmp(name, known.name) != 0) continue;
    if (std::strcmp(name, "cuIpcOpenMemHandle") == 0 && version < 11000) break;
    if (status) *status = CU_GET_PROC_ADDRESS_SUCCESS;
    const bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (known.function == reinterpret_cast<void*>(&batch_13) && version < 13000) {
      *out = reinterpret_cast<void*>(&batch_12);
      return CUDA_SUCCESS;
    }
    *out = per_thread && known.function == reinterpret_cast<void*>(&stream_query)
               ? reinterpret_cast<void*>(&stream_query_per_thread)
               : known.function;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}
