// What a call is made for, so that a program that tries one way and then another can be told from
// one that stays without.
#pragma once

#include <cstdint>

#include "api/calls.h"

namespace cuvmm::shim {

/// The same for a refused call and for the program's fall-back, which calls the same function: the
/// place of memory or of a pool, the handle that is mapped. 0 where a success of the function is
/// enough. Sizes are left out: programs try with one granule what they need for more.
template <class CallStruct>
std::uint64_t wish_of(const CallStruct&) {
  return 0;
}
inline std::uint64_t wish_of(const CUmemLocation& place) {
  return std::uint64_t{static_cast<std::uint32_t>(place.type)} << 32 |
         static_cast<std::uint32_t>(place.id);
}
inline std::uint64_t wish_of(const calls::MemCreate& call) {
  return call.prop ? wish_of(call.prop->location) : 0;
}
inline std::uint64_t wish_of(const calls::MemPoolCreate& call) {
  return call.poolProps ? wish_of(call.poolProps->location) : 0;
}
inline std::uint64_t wish_of(const calls::MemMap& call) { return call.handle; }

}  // namespace cuvmm::shim
