// SPDX-License-Identifier: Apache-2.0
// hip-tests' negative cases of pools: the driver refuses each as documented, cuvmm finds the broken
// rule, and no state changes.
//
// expects: cuMemPoolCreate-pool-nonnull
// expects: cuMemPoolCreate-poolProps-nonnull
// expects: cuMemPoolCreate-type
// expects: cuMemPoolExportPointer-ptr-valid
// expects: cuMemPoolExportToShareableHandle-handle_out-nonnull
// expects: cuMemPoolExportToShareableHandle-type-requested
// expects: cuMemPoolImportFromShareableHandle-pool_out-nonnull
// expects: cuMemPoolSetAccess-map-nonnull
// expects: cuMemPoolSetAccess-own-device
#include "real-driver-tests/flows/flow.h"

namespace {

constexpr auto kPosix = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

void create() {
  CUmemoryPool pool = nullptr;
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(nullptr, &props));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, nullptr));
  props.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, &props));
}

void share() {
  CUmemoryPool pool = flow::make_pool(), shared = flow::make_pool(kPosix);
  int fd = -1;
  CUmemPoolPtrExportData data;
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportToShareableHandle(nullptr, shared, kPosix, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportToShareableHandle(&fd, pool, kPosix, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemPoolImportFromShareableHandle(nullptr, nullptr, kPosix, 0));
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportPointer(&data, 0));
  SAW(CUDA_SUCCESS, cuMemPoolDestroy(pool));
  SAW(CUDA_SUCCESS, cuMemPoolDestroy(shared));
}

void access() {
  CUmemoryPool pool = flow::make_pool();
  CUmemAccessDesc own = bug::access_from(0, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  SAW(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(pool, nullptr, 1));
  SAW(CUDA_ERROR_INVALID_DEVICE, cuMemPoolSetAccess(pool, &own, 1));
  SAW(CUDA_SUCCESS, cuMemPoolDestroy(pool));
}

}  // namespace

int main() {
  bug::start();
  create();
  share();
  access();
  return bug::verdict();
}
