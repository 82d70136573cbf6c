// SPDX-License-Identifier: Apache-2.0
// What the shim asks the driver of contexts, plain memory and pools.
#include "api/posix/cancel_off.h"
#include "shim/facts/facts.h"

namespace cuvmm::shim {

void FactFinder::find_context(Facts::Place& place) const {
  CUcontext context = nullptr;
  if (driver_(calls::CtxGetCurrent{&context}) != CUDA_SUCCESS) return;
  place.context = context ? Facts::Answer::kYes : Facts::Answer::kNo;
  place.context_id = reinterpret_cast<std::uintptr_t>(context);
  if (context) place.device = device_of(context);
}

Facts::Answer FactFinder::primary_context_active(CUdevice device) const {
  unsigned flags = 0;
  int active = 0;
  const CUresult asked = driver_(calls::DevicePrimaryCtxGetState{device, &flags, &active});
  if (asked != CUDA_SUCCESS) return Facts::Answer::kUnknown;
  return active ? Facts::Answer::kYes : Facts::Answer::kNo;
}

void FactFinder::find_memory(CUdeviceptr address, Facts::Ipc& ipc) const {
  const CancelOff no_cancel;
  int capable = 0;
  const CUresult asked = driver_(calls::PointerGetAttribute{
      &capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address});
  if (asked != CUDA_SUCCESS && asked != CUDA_ERROR_INVALID_VALUE) return;
  const bool yes = asked == CUDA_SUCCESS && capable;
  ipc.capable = yes ? Facts::Answer::kYes : Facts::Answer::kNo;
  CUdeviceptr base = 0;
  std::size_t size = 0;
  if (driver_(calls::MemGetAddressRange{&base, &size, address}) != CUDA_SUCCESS) return;
  ipc.base = base;
  ipc.size = size;
}

bool FactFinder::holds_memory(CUdeviceptr address) const {
  const CancelOff no_cancel;
  unsigned type = 0;
  return driver_(calls::PointerGetAttribute{&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address}) ==
             CUDA_SUCCESS &&
         type != 0;
}

void FactFinder::find_pool_memory(CUdeviceptr address, Facts::Pool& pool) const {
  const CancelOff no_cancel;
  CUmemorytype type{};
  if (driver_(calls::PointerGetAttribute{&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address}) !=
      CUDA_SUCCESS) {
    return;
  }
  if (type == CU_MEMORYTYPE_HOST) {
    pool.location = CUmemLocation{};
    pool.location->type = CU_MEM_LOCATION_TYPE_HOST;
  }
  int device = 0;
  if (type == CU_MEMORYTYPE_DEVICE &&
      driver_(calls::PointerGetAttribute{&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address}) ==
          CUDA_SUCCESS) {
    pool.location = CUmemLocation{};
    pool.location->type = CU_MEM_LOCATION_TYPE_DEVICE;
    pool.location->id = device;
  }
  CUdeviceptr base = 0;
  std::size_t size = 0;
  if (driver_(calls::MemGetAddressRange{&base, &size, address}) == CUDA_SUCCESS &&
      base == address) {
    pool.object_size = size;
  }
}

void FactFinder::find_pool(CUmemoryPool pool, Facts::Pool& facts) const {
  const CancelOff no_cancel;
  int count = 0;
  if (driver_(calls::DeviceGetCount{&count}) != CUDA_SUCCESS) return;
  for (int device = 0; device < count; ++device) {
    CUmemoryPool found = nullptr;
    if (driver_(calls::DeviceGetDefaultMemPool{&found, device}) != CUDA_SUCCESS) return;
    if (found == pool) {
      facts.is_default = Facts::Answer::kYes;
      facts.default_device = device;
      return;
    }
  }
  facts.is_default = Facts::Answer::kNo;
}

}  // namespace cuvmm::shim
