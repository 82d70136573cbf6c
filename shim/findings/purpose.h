// SPDX-License-Identifier: Apache-2.0
// What a call is made for. A program may try one way, be refused, and then get the same by another
// way. This tells it from a program that does not get it at all.
#pragma once

#include <cstdint>
#include <type_traits>

#include "api/calls.h"

namespace cuvmm::shim {

/// Equal for a refused call and for the later call of the same function that gets what the first
/// one wanted. It stands for the place of memory or of a pool, for the handle that is mapped, or
/// for the address that is asked about; it is 0 if any success of the function counts. Sizes play
/// no part: programs try with one granule what they need for more.
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

/// How many bytes the call is about, for a refusal that asked for too many; of a call without a
/// size any success is enough.
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
