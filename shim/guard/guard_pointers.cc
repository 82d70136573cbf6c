// SPDX-License-Identifier: Apache-2.0
// Translates the driver's answers about addresses, so that they fit the program's ranges.
#include <cstring>

#include "shim/guard/guard.h"

namespace cuvmm::shim {

namespace {

// An address without memory: the driver is asked about it in place of an address that the program
// must not know to be reserved.
constexpr std::uint64_t kNobodys = 0x1000;

template <class Value>
void replace(void* data, Value from, Value to) {
  Value value;
  std::memcpy(&value, data, sizeof value);
  if (value == from) std::memcpy(data, &to, sizeof to);
}

}  // namespace

Guard::Place Guard::place_of(std::uint64_t address) {
  if (!options_.ranges()) return {};
  const Locked lock(mutex_);
  const Span* const span = spans_.at(address);
  if (!span) return {};
  const bool known =
      !span->quarantined && address >= span->base && address - span->base < span->size;
  return {known && span->margin != 0, !known, *span};
}

void Guard::translate(const Place& place, int attribute, std::uint64_t address, void* data) {
  if (!data) return;
  const Span& span = place.span;
  if (place.forbidden) {
    // For an unknown address the driver may answer the address itself as the pointer on the host.
    if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER) replace(data, kNobodys, address);
  } else if (place.inside && attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) {
    replace(data, span.outer_base(), span.base);
  } else if (place.inside && attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE) {
    replace(data, span.outer_size(), span.size);
  }
}

CUresult Guard::make(const calls::MemGetAddressRange& call) {
  const Place place = place_of(call.dptr);
  const CUresult result = driver_(
      calls::MemGetAddressRange{call.base, call.size, place.forbidden ? kNobodys : call.dptr});
  if (result != CUDA_SUCCESS || !place.inside) return result;
  translate(place, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, call.dptr, call.base);
  translate(place, CU_POINTER_ATTRIBUTE_RANGE_SIZE, call.dptr, call.size);
  return result;
}

CUresult Guard::make(const calls::PointerGetAttribute& call) {
  const Place place = place_of(call.ptr);
  const CUresult result = driver_(
      calls::PointerGetAttribute{call.data, call.attribute, place.forbidden ? kNobodys : call.ptr});
  if (result == CUDA_SUCCESS) {
    translate(place, static_cast<int>(call.attribute), call.ptr, call.data);
  }
  return result;
}

CUresult Guard::make(Attributes function, unsigned count, CUpointer_attribute* attributes,
                     void** data, CUdeviceptr address) {
  const Place place = place_of(address);
  const CUresult result = function(count, attributes, data, place.forbidden ? kNobodys : address);
  if (result != CUDA_SUCCESS) return result;
  for (unsigned i = 0; i < count; ++i) {
    translate(place, static_cast<int>(attributes[i]), address, data[i]);
  }
  return result;
}

}  // namespace cuvmm::shim
