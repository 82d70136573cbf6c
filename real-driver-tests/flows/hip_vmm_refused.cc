// SPDX-License-Identifier: Apache-2.0
// hip-tests' negative cases of virtual memory: the driver refuses each as documented, cuvmm finds
// the broken rule, and no state changes.
//
// expects: cuMemAddressFree-exact
// expects: cuMemAddressFree-ptr-nonnull
// expects: cuMemAddressReserve-alignment-power-of-two
// expects: cuMemAddressReserve-ptr-nonnull
// expects: cuMemAddressReserve-size-nonzero
// expects: cuMemAddressReserve-size-page
// expects: cuMemCreate-handle-nonnull
// expects: cuMemCreate-location-device
// expects: cuMemCreate-prop-nonnull
// expects: cuMemCreate-size-granularity
// expects: cuMemCreate-size-nonzero
// expects: cuMemCreate-type-pinned
// expects: cuMemGetAllocationPropertiesFromHandle-prop-nonnull
// expects: cuMemMap-ptr-nonnull
// expects: cuMemSetAccess-desc-nonnull
// expects: cuMemSetAccess-size-nonzero
// expects: cuMemUnmap-ptr-reserved
// expects: cuMemUnmap-size-nonzero
#include "real-driver-tests/flows/flow.h"

namespace {

void reserve_and_free(std::size_t granule) {
  CUdeviceptr address = 0;
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(nullptr, granule, 0, 0, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&address, 0, 0, 0, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&address, granule, 3, 0, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&address, granule - 1, 0, 0, 0));
  MUST(cuMemAddressReserve(&address, granule, 0, 0, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(0, granule));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, 0));
  SAW(CUDA_SUCCESS, cuMemAddressFree(address, granule));
}

void create(std::size_t granule) {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp prop = bug::memory_on(0);
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemCreate(nullptr, granule, &prop, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, granule, nullptr, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, 0, &prop, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, granule - 1, &prop, 0));
  prop.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, granule, &prop, 0));
  prop = bug::memory_on(-1);
  SAW(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&handle, granule, &prop, 0));
}

void map_and_access(std::size_t granule) {
  const flow::Mapped m = flow::map_new(granule);
  CUmemAccessDesc access = bug::access_from(0);
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemMap(0, granule, 0, m.handle, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(m.address, granule, nullptr, 1));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(m.address, 0, &access, 1));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(0, granule));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(m.address, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationPropertiesFromHandle(nullptr, m.handle));
  flow::unmap(m.address, granule);
  // This query tells that the address has no mapping any more.
  CUmemGenericAllocationHandle none = 0;
  SAW(CUDA_ERROR_INVALID_VALUE,
      cuMemRetainAllocationHandle(&none, reinterpret_cast<void*>(m.address)));
  SAW(CUDA_SUCCESS, cuMemRelease(m.handle));
}

}  // namespace

int main() {
  const std::size_t granule = bug::start();
  reserve_and_free(granule);
  create(granule);
  map_and_access(granule);
  return bug::verdict();
}
