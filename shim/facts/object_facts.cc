// SPDX-License-Identifier: Apache-2.0
// The questions of the shim to the driver about contexts, plain memory and pools.
#include <optional>

#include "api/location.h"
#include "api/newer/pools.h"
#include "api/posix/cancel_off.h"
#include "shim/facts/facts.h"

namespace cuvmm::shim {

namespace {

struct Extent {
  std::uint64_t base, size;  ///< bytes
};

// The memory that holds an address; nullopt if the driver does not answer.
std::optional<Extent> memory_around(const Driver& driver, CUdeviceptr address) {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  if (driver(calls::MemGetAddressRange{&base, &size, address}) == CUDA_SUCCESS) {
    return Extent{base, size};
  }
  // cuMemGetAddressRange does not find memory that the context's device may not touch; the
  // attributes are equal for all devices.
  void* start = nullptr;
  if (driver(calls::PointerGetAttribute{&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address}) !=
          CUDA_SUCCESS ||
      driver(calls::PointerGetAttribute{&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address}) !=
          CUDA_SUCCESS) {
    return std::nullopt;
  }
  return Extent{reinterpret_cast<std::uintptr_t>(start), size};
}

}  // namespace

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
  if (const auto memory = memory_around(driver_, address)) {
    ipc.base = memory->base;
    ipc.size = memory->size;
  }
}

bool FactFinder::holds_memory(CUdeviceptr address) const {
  const CancelOff no_cancel;
  unsigned type = 0;
  return driver_(calls::PointerGetAttribute{&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address}) ==
             CUDA_SUCCESS &&
         type != 0;
}

int FactFinder::device_of_memory(CUdeviceptr address) const {
  const CancelOff no_cancel;
  int device = -1;
  const CUresult asked =
      driver_(calls::PointerGetAttribute{&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address});
  return asked == CUDA_SUCCESS ? device : -1;
}

bool FactFinder::any_device_reaches_pageable() const {
  const CancelOff no_cancel;
  int devices = 0;
  if (driver_(calls::DeviceGetCount{&devices}) != CUDA_SUCCESS) return true;
  for (int device = 0; device < devices; ++device) {
    int reaches = 0;
    constexpr auto kWhich = CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS;
    const CUresult asked = driver_(calls::DeviceGetAttribute{&reaches, kWhich, device});
    if (asked != CUDA_SUCCESS || reaches != 0) return true;
  }
  return false;
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
  const auto memory = memory_around(driver_, address);
  if (memory && memory->base == address) pool.object_size = memory->size;
}

void FactFinder::describe_pool(CUmemoryPool pool, Facts::Pool& facts) const {
  const CancelOff no_cancel;
  const auto ask = [&](CUmemPool_attribute attribute) -> std::optional<int> {
    int value = 0;
    const auto asked = driver_(calls::MemPoolGetAttribute{pool, attribute, &value});
    return asked == CUDA_SUCCESS ? std::optional(value) : std::nullopt;
  };
  const auto type = ask(kPoolAttributeLocationType);
  const auto id = ask(kPoolAttributeLocationId);
  const auto handle_types = ask(kPoolAttributeHandleTypes);
  const auto memory = ask(kPoolAttributeAllocationType);
  if (!type || !id || !handle_types || !memory) return;
  const auto domain = ask(kPoolAttributeDomain);
  facts.location = make_location(*type, *id);
  if (is_domain(*facts.location) && domain && *domain >= 0) {
    facts.location = domain_location(*id, *domain);
  }
  facts.handle_types = static_cast<unsigned>(*handle_types);
  facts.type = static_cast<CUmemAllocationType>(*memory);
}

void FactFinder::find_default(CUmemoryPool pool, const CUmemLocation& place,
                              CUmemAllocationType type, Facts::Pool& facts) const {
  const CancelOff no_cancel;
  CUmemoryPool found = nullptr;
  CUmemLocation asked = place;
  const bool of_device =
      static_cast<int>(place.type) == kLocationDevice && type == CU_MEM_ALLOCATION_TYPE_PINNED;
  const CUresult answer = of_device ? driver_(calls::DeviceGetDefaultMemPool{&found, place.id})
                                    : driver_(calls::MemGetDefaultMemPool{&found, &asked, type});
  if (answer != CUDA_SUCCESS) return;
  facts.is_default = found == pool ? Facts::Answer::kYes : Facts::Answer::kNo;
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
