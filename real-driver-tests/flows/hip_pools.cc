// SPDX-License-Identifier: Apache-2.0
// Uses pools as hip-tests do: the default pool and a pool of its own, attributes, reuse on a
// stream, trimming, a limit of the size, access of the pool's device, and memory that outlives a
// destroyed pool.
//
// expects: nothing
#include "real-driver-tests/flows/flow.h"

namespace {

constexpr std::size_t kSize = 2 << 20;
CUstream stream = nullptr;

CUdeviceptr take(CUmemoryPool pool) {
  CUdeviceptr address = 0;
  MUST(cuMemAllocFromPoolAsync(&address, kSize, pool, stream));
  return address;
}

void the_default_pool() {
  CUmemoryPool pool = nullptr, current = nullptr;
  SAW(CUDA_SUCCESS, cuDeviceGetDefaultMemPool(&pool, 0));
  SAW(CUDA_SUCCESS, cuDeviceGetMemPool(&current, 0));
  HOLD(pool == current);
  CUmemoryPool own = flow::make_pool();
  SAW(CUDA_SUCCESS, cuDeviceSetMemPool(0, own));
  CUdeviceptr address = 0;
  SAW(CUDA_SUCCESS, cuMemAllocAsync(&address, kSize, stream));
  HOLD(flow::pool_value(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == kSize);
  SAW(CUDA_SUCCESS, cuMemFreeAsync(address, stream));
  SAW(CUDA_SUCCESS, cuStreamSynchronize(stream));
  SAW(CUDA_SUCCESS, cuDeviceSetMemPool(0, pool));
  SAW(CUDA_SUCCESS, cuMemPoolDestroy(own));
}

void attributes_and_reuse() {
  CUmemoryPool pool = flow::make_pool();
  cuuint64_t keep = ~cuuint64_t{0};
  SAW(CUDA_SUCCESS, cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
  HOLD(flow::pool_value(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == keep);
  const CUdeviceptr first = take(pool);
  SAW(CUDA_SUCCESS, cuMemsetD8Async(first, 5, kSize, stream));
  SAW(CUDA_SUCCESS, cuMemFreeAsync(first, stream));
  const CUdeviceptr second = take(pool);
  HOLD(second == first);  // freed memory is used again on the same stream
  SAW(CUDA_SUCCESS, cuMemFreeAsync(second, stream));
  SAW(CUDA_SUCCESS, cuStreamSynchronize(stream));
  HOLD(flow::pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
  HOLD(flow::pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= kSize);
  HOLD(flow::pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= kSize);
  cuuint64_t zero = 0;
  SAW(CUDA_SUCCESS, cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
  HOLD(flow::pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 0);
  SAW(CUDA_SUCCESS, cuMemPoolTrimTo(pool, 0));
  HOLD(flow::pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
  SAW(CUDA_SUCCESS, cuMemPoolDestroy(pool));
}

void access_of_the_own_device() {
  CUmemoryPool pool = flow::make_pool();
  CUmemLocation device = bug::access_from(0).location;
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  SAW(CUDA_SUCCESS, cuMemPoolGetAccess(&flags, pool, &device));
  HOLD(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  SAW(CUDA_SUCCESS, cuMemPoolDestroy(pool));
}

void a_bound() {
  constexpr std::size_t kMost = 64 << 20;
  CUmemoryPool pool = flow::make_pool(CU_MEM_HANDLE_TYPE_NONE, kMost);
  const CUdeviceptr fits = take(pool);
  CUdeviceptr too_much = 0;
  SAW(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&too_much, 2 * kMost, pool, stream));
  SAW(CUDA_SUCCESS, cuMemFreeAsync(fits, stream));
  SAW(CUDA_SUCCESS, cuStreamSynchronize(stream));
  SAW(CUDA_SUCCESS, cuMemPoolDestroy(pool));
}

void memory_outlives_its_pool() {
  CUmemoryPool pool = flow::make_pool();
  const CUdeviceptr address = take(pool);
  SAW(CUDA_SUCCESS, cuStreamSynchronize(stream));
  SAW(CUDA_SUCCESS, cuMemPoolDestroy(pool));
  MUST(cuMemsetD8(address, 8, kSize));
  HOLD(flow::filled(address, kSize, 8));
  SAW(CUDA_SUCCESS, cuMemFree(address));
}

}  // namespace

int main() {
  bug::start();
  if (!flow::attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)) bug::skip("no pools here");
  MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  the_default_pool();
  attributes_and_reuse();
  access_of_the_own_device();
  a_bound();
  memory_outlives_its_pool();
  SAW(CUDA_SUCCESS, cuStreamDestroy(stream));
  return bug::verdict();
}
