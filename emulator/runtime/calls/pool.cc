// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory pools: the runtime's structures are the driver's.
#include "emulator/runtime/calls/call.h"

namespace cuvmm::runtime {

CUVMM_RUNTIME_ON_STREAM(cudaMallocFromPoolAsync, ptsz, (pointer, size, pool, stream),
                        void** pointer, std::size_t size, CUmemoryPool pool, CUstream stream) {
  return ask(driver.cuMemAllocFromPoolAsync, reinterpret_cast<CUdeviceptr*>(pointer), size, pool,
             stream);
}
CUVMM_RUNTIME_CALL(cudaMemPoolCreate, (pool, props), CUmemoryPool* pool,
                   const CUmemPoolProps* props) {
  return ask(driver.cuMemPoolCreate, pool, props);
}
CUVMM_RUNTIME_CALL(cudaMemPoolDestroy, (pool), CUmemoryPool pool) {
  return ask(driver.cuMemPoolDestroy, pool);
}
CUVMM_RUNTIME_CALL(cudaMemPoolTrimTo, (pool, keep_bytes), CUmemoryPool pool,
                   std::size_t keep_bytes) {
  return ask(driver.cuMemPoolTrimTo, pool, keep_bytes);
}
CUVMM_RUNTIME_CALL(cudaMemPoolGetAttribute, (pool, attribute, value), CUmemoryPool pool,
                   CUmemPool_attribute attribute, void* value) {
  return ask(driver.cuMemPoolGetAttribute, pool, attribute, value);
}
CUVMM_RUNTIME_CALL(cudaMemPoolSetAttribute, (pool, attribute, value), CUmemoryPool pool,
                   CUmemPool_attribute attribute, void* value) {
  return ask(driver.cuMemPoolSetAttribute, pool, attribute, value);
}
CUVMM_RUNTIME_CALL(cudaMemPoolGetAccess, (flags, pool, location), CUmemAccess_flags* flags,
                   CUmemoryPool pool, CUmemLocation* location) {
  return ask(driver.cuMemPoolGetAccess, flags, pool, location);
}
CUVMM_RUNTIME_CALL(cudaMemPoolSetAccess, (pool, descs, count), CUmemoryPool pool,
                   const CUmemAccessDesc* descs, std::size_t count) {
  return ask(driver.cuMemPoolSetAccess, pool, descs, count);
}
CUVMM_RUNTIME_CALL(cudaMemPoolExportToShareableHandle, (handle, pool, type, flags), void* handle,
                   CUmemoryPool pool, CUmemAllocationHandleType type, unsigned flags) {
  return ask(driver.cuMemPoolExportToShareableHandle, handle, pool, type, flags);
}
CUVMM_RUNTIME_CALL(cudaMemPoolImportFromShareableHandle, (pool, handle, type, flags),
                   CUmemoryPool* pool, void* handle, CUmemAllocationHandleType type,
                   unsigned flags) {
  return ask(driver.cuMemPoolImportFromShareableHandle, pool, handle, type, flags);
}
CUVMM_RUNTIME_CALL(cudaMemPoolExportPointer, (data, pointer), CUmemPoolPtrExportData* data,
                   void* pointer) {
  return ask(driver.cuMemPoolExportPointer, data, reinterpret_cast<CUdeviceptr>(pointer));
}
CUVMM_RUNTIME_CALL(cudaMemPoolImportPointer, (pointer, pool, data), void** pointer,
                   CUmemoryPool pool, CUmemPoolPtrExportData* data) {
  return ask(driver.cuMemPoolImportPointer, reinterpret_cast<CUdeviceptr*>(pointer), pool, data);
}
CUVMM_RUNTIME_CALL(cudaDeviceGetDefaultMemPool, (pool, device), CUmemoryPool* pool, int device) {
  return ask(driver.cuDeviceGetDefaultMemPool, pool, device);
}
CUVMM_RUNTIME_CALL(cudaDeviceGetMemPool, (pool, device), CUmemoryPool* pool, int device) {
  return ask(driver.cuDeviceGetMemPool, pool, device);
}
CUVMM_RUNTIME_CALL(cudaDeviceSetMemPool, (device, pool), int device, CUmemoryPool pool) {
  return ask(driver.cuDeviceSetMemPool, device, pool);
}

#if CUVMM_RUNTIME_MAJOR > 12
CUVMM_RUNTIME_CALL(cudaMemGetDefaultMemPool, (pool, location, type), CUmemoryPool* pool,
                   CUmemLocation* location, CUmemAllocationType type) {
  return ask(driver.MemGetDefaultMemPool, pool, location, type);
}
CUVMM_RUNTIME_CALL(cudaMemGetMemPool, (pool, location, type), CUmemoryPool* pool,
                   CUmemLocation* location, CUmemAllocationType type) {
  return ask(driver.MemGetMemPool, pool, location, type);
}
CUVMM_RUNTIME_CALL(cudaMemSetMemPool, (location, type, pool), CUmemLocation* location,
                   CUmemAllocationType type, CUmemoryPool pool) {
  return ask(driver.MemSetMemPool, location, type, pool);
}
#endif

}  // namespace cuvmm::runtime
