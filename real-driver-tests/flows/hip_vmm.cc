// SPDX-License-Identifier: Apache-2.0
// Uses virtual memory as hip-tests do: maps memory again and again, at two addresses at once, in
// parts and out of order; releases handles before and after; takes access and gives it; grows a
// buffer; does this on several threads.
//
// expects: nothing
#include <atomic>
#include <thread>

#include "real-driver-tests/flows/flow.h"

namespace {

std::size_t granule = 0;

CUdeviceptr reserve(std::size_t size, std::size_t alignment = 0) {
  CUdeviceptr address = 0;
  MUST(cuMemAddressReserve(&address, size, alignment, 0, 0));
  return address;
}

CUmemGenericAllocationHandle create(std::size_t size) {
  const CUmemAllocationProp prop = bug::memory_on(0);
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemCreate(&handle, size, &prop, 0));
  return handle;
}

void release_before_and_after_use() {
  for (const bool before : {false, true}) {
    const flow::Mapped m = flow::map_new(granule);
    if (before) SAW(CUDA_SUCCESS, cuMemRelease(m.handle));
    MUST(cuMemsetD8(m.address, 1, granule));
    HOLD(flow::filled(m.address, granule, 1));
    SAW(CUDA_SUCCESS, cuMemUnmap(m.address, granule));
    if (!before) SAW(CUDA_SUCCESS, cuMemRelease(m.handle));
    SAW(CUDA_SUCCESS, cuMemAddressFree(m.address, granule));
  }
}

void alignments() {
  for (const std::size_t alignment : {granule, 2 * granule, 8 * granule}) {
    const CUdeviceptr address = reserve(granule, alignment);
    HOLD(address % alignment == 0);
    SAW(CUDA_SUCCESS, cuMemAddressFree(address, granule));
  }
}

void one_memory_in_two_places() {
  const flow::Mapped m = flow::map_new(granule);
  const CUdeviceptr second = reserve(granule);
  flow::map_at(second, granule, m.handle);
  MUST(cuMemsetD8(m.address, 2, granule));
  HOLD(flow::filled(second, granule, 2));
  flow::unmap(second, granule);
  flow::unmap(m.address, granule);
  // Mapped once more, the memory still has its content.
  const CUdeviceptr third = reserve(granule);
  flow::map_at(third, granule, m.handle);
  HOLD(flow::filled(third, granule, 2));
  flow::unmap(third, granule);
  SAW(CUDA_SUCCESS, cuMemRelease(m.handle));
}

void one_place_for_several_memories() {
  const CUdeviceptr address = reserve(granule);
  for (unsigned char round = 0; round < 5; ++round) {
    const CUmemGenericAllocationHandle handle = create(granule);
    flow::map_at(address, granule, handle);
    MUST(cuMemsetD8(address, round, granule));
    HOLD(flow::filled(address, granule, round));
    SAW(CUDA_SUCCESS, cuMemUnmap(address, granule));
    SAW(CUDA_SUCCESS, cuMemRelease(handle));
  }
  SAW(CUDA_SUCCESS, cuMemAddressFree(address, granule));
}

void chunks_out_of_order() {
  constexpr std::size_t kChunks = 4;
  const CUdeviceptr address = reserve(kChunks * granule);
  for (const std::size_t i : {2, 0, 3, 1}) {
    const CUmemGenericAllocationHandle handle = create(granule);
    MUST(cuMemMap(address + i * granule, granule, 0, handle, 0));
    SAW(CUDA_SUCCESS, cuMemRelease(handle));
  }
  const CUmemAccessDesc access = bug::access_from(0);
  MUST(cuMemSetAccess(address, kChunks * granule, &access, 1));
  MUST(cuMemsetD8(address + granule / 2, 6, (kChunks - 1) * granule));
  HOLD(flow::filled(address + granule / 2, (kChunks - 1) * granule, 6));
  flow::unmap(address, kChunks * granule);
}

void access_taken_and_given() {
  const flow::Mapped m = flow::map_new(granule);
  const CUmemLocation device = bug::access_from(0).location;
  for (const CUmemAccess_flags flags :
       {CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_NONE,
        CU_MEM_ACCESS_FLAGS_PROT_READWRITE}) {
    const CUmemAccessDesc access = bug::access_from(0, flags);
    unsigned long long seen = 99;
    SAW(CUDA_SUCCESS, cuMemSetAccess(m.address, granule, &access, 1));
    SAW(CUDA_SUCCESS, cuMemGetAccess(&seen, &device, m.address));
    HOLD(seen == static_cast<unsigned long long>(flags));
  }
  MUST(cuMemsetD8(m.address, 3, granule));
  CUmemGenericAllocationHandle same = 0;
  SAW(CUDA_SUCCESS, cuMemRetainAllocationHandle(&same, reinterpret_cast<void*>(m.address)));
  HOLD(same == m.handle);
  SAW(CUDA_SUCCESS, cuMemRelease(same));
  flow::unmap(m.address, granule);
  SAW(CUDA_SUCCESS, cuMemRelease(m.handle));
}

// Grows behind the old part if that address is free; otherwise the whole buffer moves.
void grow() {
  flow::Mapped old = flow::map_new(granule);
  MUST(cuMemsetD8(old.address, 4, granule));
  const CUmemGenericAllocationHandle more = create(granule);
  CUdeviceptr behind = 0;
  MUST(cuMemAddressReserve(&behind, granule, 0, old.address + granule, 0));
  CUdeviceptr address = old.address;
  const bool in_place = behind == old.address + granule;
  if (in_place) {
    flow::map_at(behind, granule, more);
  } else {
    SAW(CUDA_SUCCESS, cuMemAddressFree(behind, granule));
    flow::unmap(old.address, granule);
    address = reserve(2 * granule);
    flow::map_at(address, granule, old.handle);
    flow::map_at(address + granule, granule, more);
  }
  MUST(cuMemsetD8(address + granule, 4, granule));
  HOLD(flow::filled(address, 2 * granule, 4));
  SAW(CUDA_SUCCESS, cuMemUnmap(address, granule));
  SAW(CUDA_SUCCESS, cuMemUnmap(address + granule, granule));
  SAW(CUDA_SUCCESS, cuMemRelease(old.handle));
  SAW(CUDA_SUCCESS, cuMemRelease(more));
  SAW(CUDA_SUCCESS, cuMemAddressFree(address, in_place ? granule : 2 * granule));
  if (in_place) SAW(CUDA_SUCCESS, cuMemAddressFree(behind, granule));
}

void threads() {
  std::vector<std::thread> all;
  std::atomic<int> right{0};
  CUcontext context = nullptr;
  MUST(cuCtxGetCurrent(&context));
  constexpr int kThreads = 5;
  for (unsigned char i = 0; i < kThreads; ++i) {
    all.emplace_back([&, i] {
      MUST(cuCtxSetCurrent(context));
      const flow::Mapped m = flow::map_new(granule);
      MUST(cuMemsetD8(m.address, i, granule));
      right += flow::filled(m.address, granule, i);
      MUST(cuMemUnmap(m.address, granule));
      MUST(cuMemRelease(m.handle));
      MUST(cuMemAddressFree(m.address, granule));
    });
  }
  for (std::thread& thread : all) thread.join();
  HOLD(right == kThreads);
}

}  // namespace

int main() {
  granule = bug::start();
  alignments();
  release_before_and_after_use();
  one_memory_in_two_places();
  one_place_for_several_memories();
  chunks_out_of_order();
  access_taken_and_given();
  grow();
  threads();
  return bug::verdict();
}
