// SPDX-License-Identifier: Apache-2.0
// The purpose of a call. A program may try one way, get a refusal, and then reach the purpose by
// another way. The purpose separates such a program from one that never reaches it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "api/calls.h"

namespace cuvmm::shim {

/// Equal for a refused call and for the later call of the function that gets the memory which the
/// first call wanted. A purpose is the place of memory or of a pool, the handle that the call maps,
/// or the address that it asks about; it is 0 if any success of the function counts. Sizes play no
/// part, because programs try with one granule whether they may allocate more.
template <class CallStruct>
std::uint64_t purpose_of(const CallStruct&) {
  return 0;
}
inline std::uint64_t purpose_of(const CUmemLocation& place) {
  return std::uint64_t{static_cast<std::uint32_t>(place.type)} << 32 |
         static_cast<std::uint32_t>(place.id);
}
inline std::uint64_t purpose_of(const calls::MemCreate& call) {
  return call.prop ? purpose_of(call.prop->location) : 0;
}
inline std::uint64_t purpose_of(const calls::MemPoolCreate& call) {
  return call.poolProps ? purpose_of(call.poolProps->location) : 0;
}
inline std::uint64_t purpose_of(const calls::MemMap& call) { return call.handle; }
inline std::uint64_t purpose_of(const calls::MemGetAddressRange& call) { return call.dptr; }
inline std::uint64_t purpose_of(const calls::PointerSetAttribute& call) { return call.ptr; }

/// The number of bytes that the call wants, for a refusal of too many bytes; ~0 for a call without
/// a size, so that any success is enough.
template <class CallStruct>
std::uint64_t wanted_size(const CallStruct& call) {
  if constexpr (requires { call.size + 1; }) {
    if constexpr (std::is_integral_v<decltype(call.size)>) return call.size;
  }
  if constexpr (requires { call.bytesize + 1; }) {
    if constexpr (std::is_integral_v<decltype(call.bytesize)>) return call.bytesize;
  }
  return ~std::uint64_t{0};
}

}  // namespace cuvmm::shim
