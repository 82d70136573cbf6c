// SPDX-License-Identifier: Apache-2.0
// Copies with attributes, batches of them, and advice for managed memory. The runtime's structures
// are the driver's, field for field. CUDA 13 gave several names another ABI.
#include "emulator/runtime/calls/call.h"

namespace cuvmm::runtime {

namespace {

// The driver reads arrays of pointers as arrays of addresses.
CUdeviceptr* addresses(const void* pointers) {
  return static_cast<CUdeviceptr*>(const_cast<void*>(pointers));
}

}  // namespace

#if CUVMM_RUNTIME_MAJOR == 12
CUVMM_RUNTIME_ON_STREAM(cudaMemcpyBatchAsync, ptsz,
                        (targets, sources, sizes, count, attributes, first, number, failed, stream),
                        void** targets, void** sources, std::size_t* sizes, std::size_t count,
                        CUmemcpyAttributes* attributes, std::size_t* first, std::size_t number,
                        std::size_t* failed, CUstream stream) {
  return ask(driver.MemcpyBatchAsync, addresses(targets), addresses(sources), sizes, count,
             attributes, first, number, failed, stream);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemcpy3DBatchAsync, ptsz, (count, copies, failed, flags, stream),
                        std::size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, std::size_t* failed,
                        unsigned long long flags, CUstream stream) {
  return ask(driver.Memcpy3DBatchAsync, count, copies, failed, flags, stream);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemPrefetchAsync, ptsz, (pointer, size, device, stream),
                        const void* pointer, std::size_t size, int device, CUstream stream) {
  return ask(driver.MemPrefetchAsync, address(pointer), size, device, stream);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemPrefetchAsync_v2, ptsz, (pointer, size, location, flags, stream),
                        const void* pointer, std::size_t size, CUmemLocation location,
                        unsigned flags, CUstream stream) {
  return ask(driver.MemPrefetchAsync_v2, address(pointer), size, location, flags, stream);
}

CUVMM_RUNTIME_CALL(cudaMemAdvise, (pointer, size, advice, device), const void* pointer,
                   std::size_t size, int advice, int device) {
  return ask(driver.MemAdvise, address(pointer), size, static_cast<CUmem_advise>(advice), device);
}

CUVMM_RUNTIME_CALL(cudaMemAdvise_v2, (pointer, size, advice, location), const void* pointer,
                   std::size_t size, int advice, CUmemLocation location) {
  return ask(driver.MemAdvise_v2, address(pointer), size, static_cast<CUmem_advise>(advice),
             location);
}
#else
CUVMM_RUNTIME_ON_STREAM(cudaMemcpyBatchAsync, ptsz,
                        (targets, sources, sizes, count, attributes, first, number, stream),
                        void* const* targets, const void* const* sources, const std::size_t* sizes,
                        std::size_t count, CUmemcpyAttributes* attributes, std::size_t* first,
                        std::size_t number, CUstream stream) {
  return ask(driver.MemcpyBatchAsync_v2, addresses(targets), addresses(sources),
             const_cast<std::size_t*>(sizes), count, attributes, first, number, stream);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemcpy3DBatchAsync, ptsz, (count, copies, flags, stream),
                        std::size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, unsigned long long flags,
                        CUstream stream) {
  return ask(driver.Memcpy3DBatchAsync_v2, count, copies, flags, stream);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemcpyWithAttributesAsync, ptsz,
                        (target, source, size, attributes, stream), void* target,
                        const void* source, std::size_t size, CUmemcpyAttributes* attributes,
                        CUstream stream) {
  return ask(driver.MemcpyWithAttributesAsync, address(target), address(source), size, attributes,
             stream);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemcpy3DWithAttributesAsync, ptsz, (copy, flags, stream),
                        CUDA_MEMCPY3D_BATCH_OP* copy, unsigned long long flags, CUstream stream) {
  return ask(driver.Memcpy3DWithAttributesAsync, copy, flags, stream);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemPrefetchAsync, ptsz, (pointer, size, location, flags, stream),
                        const void* pointer, std::size_t size, CUmemLocation location,
                        unsigned flags, CUstream stream) {
  return ask(driver.MemPrefetchAsync_v2, address(pointer), size, location, flags, stream);
}

CUVMM_RUNTIME_CALL(cudaMemAdvise, (pointer, size, advice, location), const void* pointer,
                   std::size_t size, int advice, CUmemLocation location) {
  return ask(driver.MemAdvise_v2, address(pointer), size, static_cast<CUmem_advise>(advice),
             location);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemPrefetchBatchAsync, ptsz,
                        (pointers, sizes, count, locations, first, number, flags, stream),
                        void** pointers, std::size_t* sizes, std::size_t count,
                        CUmemLocation* locations, std::size_t* first, std::size_t number,
                        unsigned long long flags, CUstream stream) {
  return ask(driver.MemPrefetchBatchAsync, addresses(pointers), sizes, count, locations, first,
             number, flags, stream);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemDiscardBatchAsync, ptsz, (pointers, sizes, count, flags, stream),
                        void** pointers, std::size_t* sizes, std::size_t count,
                        unsigned long long flags, CUstream stream) {
  return ask(driver.MemDiscardBatchAsync, addresses(pointers), sizes, count, flags, stream);
}

CUVMM_RUNTIME_ON_STREAM(cudaMemDiscardAndPrefetchBatchAsync, ptsz,
                        (pointers, sizes, count, locations, first, number, flags, stream),
                        void** pointers, std::size_t* sizes, std::size_t count,
                        CUmemLocation* locations, std::size_t* first, std::size_t number,
                        unsigned long long flags, CUstream stream) {
  return ask(driver.MemDiscardAndPrefetchBatchAsync, addresses(pointers), sizes, count, locations,
             first, number, flags, stream);
}
#endif

CUVMM_RUNTIME_ON_STREAM(cudaStreamAttachMemAsync, ptsz, (stream, pointer, length, flags),
                        CUstream stream, void* pointer, std::size_t length, unsigned flags) {
  return ask(driver.StreamAttachMemAsync, stream, address(pointer), length, flags);
}

}  // namespace cuvmm::runtime
