// SPDX-License-Identifier: Apache-2.0
// Field bug 18: ovg-project/kvcached issue 437.
// A page table differs from the mappings: it expects the shared zero page at an address, and unmaps
// it before it maps real memory. The address has no mapping. This driver reports no error, so the
// page table stays wrong until a worse failure.
//
// expects: cuMemUnmap-mapped
#include "examples/bugs/bug.h"

int main() {
  constexpr std::size_t kPages = 3;
  const std::size_t page = bug::start();
  const CUmemAllocationProp prop = bug::memory_on(0);
  CUdeviceptr cache = 0;
  CUmemGenericAllocationHandle zero = 0, real = 0;
  MUST(cuMemAddressReserve(&cache, kPages * page, 0, 0, 0));
  MUST(cuMemCreate(&zero, page, &prop, 0));
  MUST(cuMemCreate(&real, page, &prop, 0));
  // The zero page backs only the first two pages; the page table expects all three.
  for (std::size_t i = 0; i < 2; ++i) MUST(cuMemMap(cache + i * page, page, 0, zero, 0));

  const CUdeviceptr third = cache + 2 * page;
  SAW(CUDA_SUCCESS, cuMemUnmap(third, page));
  SAW(CUDA_SUCCESS, cuMemMap(third, page, 0, real, 0));

  MUST(cuMemUnmap(cache, kPages * page));
  MUST(cuMemRelease(zero));
  MUST(cuMemRelease(real));
  MUST(cuMemAddressFree(cache, kPages * page));
  return bug::verdict();
}
