// SPDX-License-Identifier: Apache-2.0
// Streams and events.
#include "emulator/runtime/calls/call.h"

namespace cuvmm::runtime {

CUVMM_RUNTIME_CALL(cudaStreamCreate, (stream), CUstream* stream) {
  return ask(driver.cuStreamCreate, stream, CU_STREAM_DEFAULT);
}
CUVMM_RUNTIME_CALL(cudaStreamCreateWithFlags, (stream, flags), CUstream* stream, unsigned flags) {
  return ask(driver.cuStreamCreate, stream, flags);
}
CUVMM_RUNTIME_CALL(cudaStreamCreateWithPriority, (stream, flags, priority), CUstream* stream,
                   unsigned flags, int priority) {
  return ask(driver.cuStreamCreateWithPriority, stream, flags, priority);
}
CUVMM_RUNTIME_CALL(cudaStreamDestroy, (stream), CUstream stream) {
  // In this call alone, 0 is not a stream.
  return stream ? ask(driver.cuStreamDestroy, stream) : cudaErrorInvalidResourceHandle;
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamSynchronize, ptsz, (stream), CUstream stream) {
  return ask(driver.cuStreamSynchronize, stream);
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamQuery, ptsz, (stream), CUstream stream) {
  return ask(driver.cuStreamQuery, stream);
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamWaitEvent, ptsz, (stream, event, flags), CUstream stream,
                        CUevent event, unsigned flags) {
  return ask(driver.cuStreamWaitEvent, stream, event, flags);
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamGetFlags, ptsz, (stream, flags), CUstream stream,
                        unsigned* flags) {
  return ask(driver.cuStreamGetFlags, stream, flags);
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamGetPriority, ptsz, (stream, priority), CUstream stream,
                        int* priority) {
  return ask(driver.cuStreamGetPriority, stream, priority);
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamGetId, ptsz, (stream, id), CUstream stream,
                        unsigned long long* id) {
  return ask(driver.cuStreamGetId, stream, id);
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamIsCapturing, ptsz, (stream, status), CUstream stream,
                        CUstreamCaptureStatus* status) {
  return ask(driver.cuStreamIsCapturing, stream, status);
}
// The attributes, and their values, are the driver's.
CUVMM_RUNTIME_ON_STREAM(cudaStreamGetAttribute, ptsz, (stream, which, value), CUstream stream,
                        int which, CUstreamAttrValue* value) {
  return ask(driver.cuStreamGetAttribute, stream, static_cast<CUstreamAttrID>(which), value);
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamSetAttribute, ptsz, (stream, which, value), CUstream stream,
                        int which, const CUstreamAttrValue* value) {
  return ask(driver.cuStreamSetAttribute, stream, static_cast<CUstreamAttrID>(which), value);
}
CUVMM_RUNTIME_CALL(cudaThreadExchangeStreamCaptureMode, (mode), CUstreamCaptureMode* mode) {
  return ask(driver.cuThreadExchangeStreamCaptureMode, mode);
}
CUVMM_RUNTIME_ON_STREAM(cudaLaunchHostFunc, ptsz, (stream, function, data), CUstream stream,
                        CUhostFn function, void* data) {
  return ask(driver.cuLaunchHostFunc, stream, function, data);
}
CUVMM_RUNTIME_ON_STREAM(cudaStreamAddCallback, ptsz, (stream, function, data, flags),
                        CUstream stream, CUstreamCallback function, void* data, unsigned flags) {
  return ask(driver.cuStreamAddCallback, stream, function, data, flags);
}

CUVMM_RUNTIME_CALL(cudaEventCreate, (event), CUevent* event) {
  return ask(driver.cuEventCreate, event, CU_EVENT_DEFAULT);
}
CUVMM_RUNTIME_CALL(cudaEventCreateWithFlags, (event, flags), CUevent* event, unsigned flags) {
  return ask(driver.cuEventCreate, event, flags);
}
CUVMM_RUNTIME_CALL(cudaEventDestroy, (event), CUevent event) {
  return ask(driver.cuEventDestroy, event);
}
CUVMM_RUNTIME_ON_STREAM(cudaEventRecord, ptsz, (event, stream), CUevent event, CUstream stream) {
  return ask(driver.cuEventRecord, event, stream);
}
CUVMM_RUNTIME_ON_STREAM(cudaEventRecordWithFlags, ptsz, (event, stream, flags), CUevent event,
                        CUstream stream, unsigned flags) {
  return ask(driver.cuEventRecordWithFlags, event, stream, flags);
}
CUVMM_RUNTIME_CALL(cudaEventQuery, (event), CUevent event) {
  return ask(driver.cuEventQuery, event);
}
CUVMM_RUNTIME_CALL(cudaEventSynchronize, (event), CUevent event) {
  return ask(driver.cuEventSynchronize, event);
}
CUVMM_RUNTIME_CALL(cudaEventElapsedTime, (milliseconds, start, end), float* milliseconds,
                   CUevent start, CUevent end) {
  return ask(driver.cuEventElapsedTime, milliseconds, start, end);
}
// CUDA 12.8's header calls this name.
CUVMM_RUNTIME_CALL(cudaEventElapsedTime_v2, (milliseconds, start, end), float* milliseconds,
                   CUevent start, CUevent end) {
  return ask(driver.cuEventElapsedTime, milliseconds, start, end);
}

}  // namespace cuvmm::runtime
