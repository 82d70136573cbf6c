// SPDX-License-Identifier: Apache-2.0
// Memory: allocation on the device, in stream order, and of pinned host memory.
#include "emulator/runtime/calls/call.h"

namespace cuvmm::runtime {

namespace {

CUdeviceptr* out(void** pointer) { return reinterpret_cast<CUdeviceptr*>(pointer); }

// The driver accepts elements of 4 to 16 bytes.
constexpr unsigned kPitchElement = 4;

}  // namespace

CUVMM_RUNTIME_CALL(cudaMalloc, (pointer, size), void** pointer, std::size_t size) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  return size == 0 ? cudaSuccess : ask(driver.cuMemAlloc, out(pointer), size);
}

CUVMM_RUNTIME_CALL(cudaMallocManaged, (pointer, size, flags), void** pointer, std::size_t size,
                   unsigned flags) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  return size == 0 ? cudaErrorInvalidValue
                   : ask(driver.cuMemAllocManaged, out(pointer), size, flags);
}

CUVMM_RUNTIME_CALL(cudaMallocPitch, (pointer, pitch, width, height), void** pointer,
                   std::size_t* pitch, std::size_t width, std::size_t height) {
  return ask(driver.cuMemAllocPitch, out(pointer), pitch, width, height, kPitchElement);
}

// cudaFree(nullptr) frees nothing, but creates the context: programs use it for that.
CUVMM_RUNTIME_CALL(cudaFree, (pointer), void* pointer) {
  return pointer ? ask(driver.cuMemFree, address(pointer)) : cudaSuccess;
}

CUVMM_RUNTIME_CALL(cudaMemGetInfo, (free_bytes, total_bytes), std::size_t* free_bytes,
                   std::size_t* total_bytes) {
  return ask(driver.cuMemGetInfo, free_bytes, total_bytes);
}

CUVMM_RUNTIME_ON_STREAM(cudaMallocAsync, ptsz, (pointer, size, stream), void** pointer,
                        std::size_t size, CUstream stream) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  return size == 0 ? cudaSuccess : ask(driver.cuMemAllocAsync, out(pointer), size, stream);
}

CUVMM_RUNTIME_ON_STREAM(cudaFreeAsync, ptsz, (pointer, stream), void* pointer, CUstream stream) {
  return pointer ? ask(driver.cuMemFreeAsync, address(pointer), stream) : cudaSuccess;
}

CUVMM_RUNTIME_CALL(cudaHostAlloc, (pointer, size, flags), void** pointer, std::size_t size,
                   unsigned flags) {
  if (!pointer) return cudaErrorInvalidValue;
  *pointer = nullptr;
  return size == 0 ? cudaSuccess : ask(driver.cuMemHostAlloc, pointer, size, flags);
}

CUVMM_RUNTIME_CALL(cudaMallocHost, (pointer, size), void** pointer, std::size_t size) {
  return body_cudaHostAlloc(driver, pointer, size, 0);
}

CUVMM_RUNTIME_CALL(cudaFreeHost, (pointer), void* pointer) {
  return pointer ? ask(driver.cuMemFreeHost, pointer) : cudaSuccess;
}

CUVMM_RUNTIME_CALL(cudaHostGetDevicePointer, (device, host, flags), void** device, void* host,
                   unsigned flags) {
  return ask(driver.cuMemHostGetDevicePointer, out(device), host, flags);
}

CUVMM_RUNTIME_CALL(cudaMemRangeGetAttribute, (data, size, which, memory, count), void* data,
                   std::size_t size, int which, const void* memory, std::size_t count) {
  return ask(driver.cuMemRangeGetAttribute, data, size, static_cast<CUmem_range_attribute>(which),
             address(memory), count);
}

CUVMM_RUNTIME_CALL(cudaHostGetFlags, (flags, host), unsigned* flags, void* host) {
  return ask(driver.cuMemHostGetFlags, flags, host);
}

CUVMM_RUNTIME_CALL(cudaHostRegister, (host, size, flags), void* host, std::size_t size,
                   unsigned flags) {
  return ask(driver.cuMemHostRegister, host, size, flags);
}

CUVMM_RUNTIME_CALL(cudaHostUnregister, (host), void* host) {
  return ask(driver.cuMemHostUnregister, host);
}

}  // namespace cuvmm::runtime
