// SPDX-License-Identifier: Apache-2.0
// Copies and fills.
#include "emulator/runtime/calls/copies.h"

#include "emulator/runtime/calls/call.h"

namespace cuvmm::runtime {

CUmemorytype source_type(int kind) {
  if (kind == kAny) return CU_MEMORYTYPE_UNIFIED;
  const bool device = kind == kDeviceToHost || kind == kDeviceToDevice;
  return device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

CUmemorytype target_type(int kind) {
  if (kind == kAny) return CU_MEMORYTYPE_UNIFIED;
  const bool device = kind == kHostToDevice || kind == kDeviceToDevice;
  return device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

namespace {

// Pitches and width in bytes; height in rows.
struct Rectangle {
  void* target;
  std::size_t target_pitch;
  const void* source;
  std::size_t source_pitch;
  std::size_t width;
  std::size_t height;
};

CUDA_MEMCPY2D describe(const Rectangle& r, int kind) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = source_type(kind);
  copy.srcHost = r.source;
  copy.srcDevice = address(r.source);
  copy.srcPitch = r.source_pitch;
  copy.dstMemoryType = target_type(kind);
  copy.dstHost = r.target;
  copy.dstDevice = address(r.target);
  copy.dstPitch = r.target_pitch;
  copy.WidthInBytes = r.width;
  copy.Height = r.height;
  return copy;
}

}  // namespace

Error copy(const Driver& driver, void* target, const void* source, std::size_t size, int kind) {
  switch (kind) {
    case kHostToDevice:
      return ask(driver.cuMemcpyHtoD, address(target), source, size);
    case kDeviceToHost:
      return ask(driver.cuMemcpyDtoH, target, address(source), size);
    case kDeviceToDevice:
      return ask(driver.cuMemcpyDtoD, address(target), address(source), size);
    case kHostToHost:
    case kAny:
      return ask(driver.cuMemcpy, address(target), address(source), size);
    default:
      return cudaErrorInvalidMemcpyDirection;
  }
}

Error copy_on(const Driver& driver, void* target, const void* source, std::size_t size, int kind,
              CUstream stream) {
  switch (kind) {
    case kHostToDevice:
      return ask(driver.cuMemcpyHtoDAsync, address(target), source, size, stream);
    case kDeviceToHost:
      return ask(driver.cuMemcpyDtoHAsync, target, address(source), size, stream);
    case kDeviceToDevice:
      return ask(driver.cuMemcpyDtoDAsync, address(target), address(source), size, stream);
    case kHostToHost:
    case kAny:
      return ask(driver.cuMemcpyAsync, address(target), address(source), size, stream);
    default:
      return cudaErrorInvalidMemcpyDirection;
  }
}

CUVMM_RUNTIME_ON_STREAM(cudaMemcpy, ptds, (target, source, size, kind), void* target,
                        const void* source, std::size_t size, int kind) {
  return copy(driver, target, source, size, kind);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemcpyAsync, ptsz, (target, source, size, kind, stream), void* target,
                        const void* source, std::size_t size, int kind, CUstream stream) {
  return copy_on(driver, target, source, size, kind, stream);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemcpy2D, ptds,
                        (target, target_pitch, source, source_pitch, width, height, kind),
                        void* target, std::size_t target_pitch, const void* source,
                        std::size_t source_pitch, std::size_t width, std::size_t height, int kind) {
  if (!known(kind)) return cudaErrorInvalidMemcpyDirection;
  const CUDA_MEMCPY2D copy =
      describe({target, target_pitch, source, source_pitch, width, height}, kind);
  return ask(driver.cuMemcpy2DUnaligned, &copy);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemcpy2DAsync, ptsz,
                        (target, target_pitch, source, source_pitch, width, height, kind, stream),
                        void* target, std::size_t target_pitch, const void* source,
                        std::size_t source_pitch, std::size_t width, std::size_t height, int kind,
                        CUstream stream) {
  if (!known(kind)) return cudaErrorInvalidMemcpyDirection;
  const CUDA_MEMCPY2D copy =
      describe({target, target_pitch, source, source_pitch, width, height}, kind);
  return ask(driver.cuMemcpy2DAsync, &copy, stream);
}

CUVMM_RUNTIME_CALL(cudaMemcpyPeer, (target, target_device, source, source_device, size),
                   void* target, int target_device, const void* source, int source_device,
                   std::size_t size) {
  CUcontext to = nullptr;
  CUcontext from = nullptr;
  Error error = primary_context(driver, target_device, to);
  if (error == cudaSuccess) error = primary_context(driver, source_device, from);
  if (error != cudaSuccess) return error;
  return ask(driver.cuMemcpyPeer, address(target), to, address(source), from, size);
}

CUVMM_RUNTIME_CALL(cudaMemcpyPeerAsync,
                   (target, target_device, source, source_device, size, stream), void* target,
                   int target_device, const void* source, int source_device, std::size_t size,
                   CUstream stream) {
  CUcontext to = nullptr;
  CUcontext from = nullptr;
  Error error = primary_context(driver, target_device, to);
  if (error == cudaSuccess) error = primary_context(driver, source_device, from);
  if (error != cudaSuccess) return error;
  return ask(driver.cuMemcpyPeerAsync, address(target), to, address(source), from, size, stream);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemset, ptds, (target, value, size), void* target, int value,
                        std::size_t size) {
  return ask(driver.cuMemsetD8, address(target), static_cast<unsigned char>(value), size);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemsetAsync, ptsz, (target, value, size, stream), void* target,
                        int value, std::size_t size, CUstream stream) {
  return ask(driver.cuMemsetD8Async, address(target), static_cast<unsigned char>(value), size,
             stream);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemset2D, ptds, (target, pitch, value, width, height), void* target,
                        std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return ask(driver.cuMemsetD2D8, address(target), pitch, static_cast<unsigned char>(value), width,
             height);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemset2DAsync, ptsz, (target, pitch, value, width, height, stream),
                        void* target, std::size_t pitch, int value, std::size_t width,
                        std::size_t height, CUstream stream) {
  return ask(driver.cuMemsetD2D8Async, address(target), pitch, static_cast<unsigned char>(value),
             width, height, stream);
}

}  // namespace cuvmm::runtime
