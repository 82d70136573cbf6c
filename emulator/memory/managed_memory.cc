// SPDX-License-Identifier: Apache-2.0
// cuMemAllocManaged and the calls that advise and prefetch managed memory. The answers are the
// documented ones; none was measured, because the machines that record drivers must not use managed
// memory.
#include <cstring>

#include "api/location.h"
#include "emulator/core/export.h"
#include "emulator/core/quirks.h"
#include "emulator/memory/managed_entry.h"
#include "emulator/memory/memory_entry.h"
#include "emulator/transfer/operations_entry.h"

namespace cuvmm::emulator {

namespace {

// The location that the first ABI names by a device's number; -1 is the CPU.
CUmemLocation location_of(CUdevice device) {
  return device == CU_DEVICE_CPU ? make_location(kLocationHost, 0)
                                 : make_location(kLocationDevice, device);
}

CUresult apply(ManagedAdvice& managed, int advice, const CUmemLocation& location) {
  const bool device = static_cast<int>(location.type) == kLocationDevice;
  const int number = device ? location.id : CU_DEVICE_CPU;
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      managed.read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      managed.preferred = place(location);
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      managed.preferred = {};
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
      managed.accessed_by.insert(number);
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
      managed.accessed_by.erase(number);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// These three kinds of advice ignore the location.
bool needs_location(int advice) {
  return advice != CU_MEM_ADVISE_SET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_READ_MOSTLY &&
         advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
}

CUresult advise(Emulator& e, CUdeviceptr address, std::size_t size, int advice,
                const CUmemLocation& location) {
  if (!e.current_context()) return e.no_context();
  if (!movable(e, address, size)) return CUDA_ERROR_INVALID_VALUE;
  const CUresult valid = needs_location(advice) ? check_location(e, location) : CUDA_SUCCESS;
  if (valid != CUDA_SUCCESS) return valid;
  ManagedAdvice none;
  ManagedAdvice* managed = managed_at(e, address, size);
  return apply(managed ? *managed : none, advice, location);
}

CUresult prefetch(Emulator& e, CUdeviceptr address, std::size_t size, const CUmemLocation& location,
                  CUstream stream) {
  if (Streams::is_default(stream) && !e.current_context()) return e.no_context();
  if (!movable(e, address, size)) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = check_location(e, location);
  if (result == CUDA_SUCCESS) result = check_stream(e, stream);
  ManagedAdvice* managed = managed_at(e, address, size);
  if (result == CUDA_SUCCESS && managed) managed->prefetched = place(location);
  return result;
}

std::optional<CUresult> without_context(const Emulator& e) {
  if (e.current_context() || !e.profile.has(Quirk::kManagedContext)) return std::nullopt;
  return e.no_context();
}

// An empty range, flags and a device that does not exist break rules, which come first.
std::optional<CUresult> odd_prefetch(const Emulator& e, CUdeviceptr address, std::size_t size,
                                     const CUmemLocation& location, CUstream stream) {
  const bool device = static_cast<int>(location.type) == kLocationDevice;
  if (address == 0 || size == 0 || (device && !e.valid_device(location.id))) return std::nullopt;
  return Streams::is_default(stream) ? without_context(e) : std::nullopt;
}

// The number by which the first ABI names a place: a device, -1 for the CPU, -2 for no place.
int device_number(const ManagedPlace& at) {
  return at.type == 0 ? CU_DEVICE_INVALID : at.type == kLocationDevice ? at.id : CU_DEVICE_CPU;
}

CUresult put_number(void* data, std::size_t size, int number) {
  if (size != sizeof number) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(data, &number, sizeof number);
  return CUDA_SUCCESS;
}

// Writes as many numbers as fit, and CU_DEVICE_INVALID after them.
CUresult put_list(void* data, std::size_t size, const std::set<int, DevicesFirst>& numbers) {
  if (size == 0 || size % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
  auto* out = static_cast<int*>(data);
  auto at = numbers.begin();
  for (std::size_t i = 0; i < size / sizeof(int); ++i) {
    out[i] = at == numbers.end() ? CU_DEVICE_INVALID : *at++;
  }
  return CUDA_SUCCESS;
}

CUresult range_attribute(const ManagedAdvice& managed, int number, void* data, std::size_t size) {
  constexpr int kPreferredType = 5;  // the attributes 5 to 8 came with CUDA 12.2
  constexpr int kPreferredId = 6;
  constexpr int kPrefetchedType = 7;
  constexpr int kPrefetchedId = 8;
  if (!data) return CUDA_ERROR_INVALID_VALUE;
  switch (number) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      return put_number(data, size, managed.read_mostly);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return put_number(data, size, device_number(managed.preferred));
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      return put_list(data, size, managed.accessed_by);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return put_number(data, size, device_number(managed.prefetched));
    case kPreferredType:
      return put_number(data, size, managed.preferred.type);
    case kPreferredId:
      return put_number(data, size, managed.preferred.id);
    case kPrefetchedType:
      return put_number(data, size, managed.prefetched.type);
    case kPrefetchedId:
      return put_number(data, size, managed.prefetched.id);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

std::optional<CUresult> quirk(const Emulator& e, const calls::MemAdvise&, const Facts&) {
  return without_context(e);
}
std::optional<CUresult> quirk(const Emulator& e, const calls::MemAdvise_v2& call, const Facts&) {
  const int type = static_cast<int>(call.location.type), advice = static_cast<int>(call.advice);
  if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
    return std::nullopt;
  }
  if (type != kLocationHostNuma && type != kLocationHostNumaCurrent) return without_context(e);
  const bool about_place =
      advice >= CU_MEM_ADVISE_SET_READ_MOSTLY && advice <= CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
  return answer(e, Quirk::kAdviceOfNode, about_place && !managed_at(e, call.devPtr, call.count));
}
std::optional<CUresult> quirk(const Emulator& e, const calls::MemPrefetchAsync& call,
                              const Facts&) {
  return odd_prefetch(e, call.devPtr, call.count, location_of(call.dstDevice), call.hStream);
}
std::optional<CUresult> quirk(const Emulator& e, const calls::MemPrefetchAsync_v2& call,
                              const Facts&) {
  if (call.flags != 0) return std::nullopt;
  return odd_prefetch(e, call.devPtr, call.count, call.location, call.hStream);
}

CUresult perform(Emulator& e, const calls::MemAllocManaged& call, const Facts&, const Retired&) {
  Context* const context = e.current_context();
  if (!context) return e.no_context();
  if (!call.dptr || call.bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  if (call.flags != CU_MEM_ATTACH_GLOBAL && call.flags != CU_MEM_ATTACH_HOST) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Address address = 0;
  const CUresult result = e.allocate_managed(*context, call.bytesize, nullptr, &address);
  if (result == CUDA_SUCCESS) *call.dptr = address;
  return result;
}

CUresult perform(Emulator& e, const calls::MemAdvise& call, const Facts&, const Retired&) {
  return advise(e, call.devPtr, call.count, static_cast<int>(call.advice),
                location_of(call.device));
}
CUresult perform(Emulator& e, const calls::MemAdvise_v2& call, const Facts&, const Retired&) {
  return advise(e, call.devPtr, call.count, static_cast<int>(call.advice), call.location);
}
CUresult perform(Emulator& e, const calls::MemPrefetchAsync& call, const Facts&, const Retired&) {
  return prefetch(e, call.devPtr, call.count, location_of(call.dstDevice), call.hStream);
}
CUresult perform(Emulator& e, const calls::MemPrefetchAsync_v2& call, const Facts&,
                 const Retired&) {
  return prefetch(e, call.devPtr, call.count, call.location, call.hStream);
}

CUVMM_DRIVER_FUNCTION(cuMemRangeGetAttribute, void* data, size_t size,
                      CUmem_range_attribute attribute, CUdeviceptr address, size_t count) {
  return locked([&](Emulator& e) -> CUresult {
    const ManagedAdvice* managed = managed_at(e, address, count);
    if (!managed) return CUDA_ERROR_INVALID_VALUE;
    return range_attribute(*managed, static_cast<int>(attribute), data, size);
  });
}

CUVMM_DRIVER_FUNCTION(cuMemRangeGetAttributes, void** data, size_t* sizes,
                      CUmem_range_attribute* attributes, size_t number, CUdeviceptr address,
                      size_t count) {
  return locked([&](Emulator& e) -> CUresult {
    const ManagedAdvice* managed = managed_at(e, address, count);
    if (!managed || !data || !sizes || !attributes || number == 0) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < number; ++i) {
      const CUresult result =
          range_attribute(*managed, static_cast<int>(attributes[i]), data[i], sizes[i]);
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}

CUresult perform(Emulator& e, const calls::StreamAttachMemAsync& call, const Facts&,
                 const Retired&) {
  if (!e.current_context()) return e.no_context();
  const PlainAllocation* plain = e.plain.at(call.dptr);
  if (plain && plain->managed) {
    if (plain->base != call.dptr) return CUDA_ERROR_INVALID_VALUE;
    if (call.length != 0 && call.length != plain->size) return CUDA_ERROR_INVALID_VALUE;
  } else if (!movable(e, call.dptr, call.length)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return check_stream(e, call.hStream);
}

}  // namespace cuvmm::emulator
