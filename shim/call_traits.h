// What the wrapper template asks of a call struct at compile time.
#pragma once

#include <string_view>
#include <type_traits>

#include "api/calls.h"
#include "spec/model.h"

namespace cuvmm::shim {

namespace detail {
constexpr std::string_view area_of(EntryPoint entry) {
  switch (entry) {
#define CUVMM_ENTRY(Name, area, ...) \
  case EntryPoint::k##Name:          \
    return #area;
#include "api/entry_points.def"
    default:
      return "";
  }
}
template <class CallStruct, class... Others>
inline constexpr bool kIsOneOf = (std::is_same_v<CallStruct, Others> || ...);
}  // namespace detail

/// A copy or fill: all that is checked of it is the bytes that it touches.
template <class CallStruct>
inline constexpr bool kTouches = detail::area_of(CallStruct::kEntryPoint) == "data" &&
                                 !detail::kIsOneOf<CallStruct, calls::MemFree, calls::MemFreeAsync>;

/// It frees by address; of what the model knows, only a buffer of external memory.
template <class CallStruct>
inline constexpr bool kFrees = detail::kIsOneOf<CallStruct, calls::MemFree, calls::MemFreeAsync>;

/// A success begins or ends an object, so a later report will want to say who did it.
template <class CallStruct>
inline constexpr bool kMakesHistory = detail::kIsOneOf<
    CallStruct, calls::MemAddressReserve, calls::MemAddressFree, calls::MemCreate,
    calls::MemRelease, calls::MemMap, calls::MemUnmap, calls::MemRetainAllocationHandle,
    calls::MemExportToShareableHandle, calls::MemImportFromShareableHandle,
    calls::ImportExternalMemory, calls::ExternalMemoryGetMappedBuffer, calls::DestroyExternalMemory,
    calls::ImportExternalSemaphore, calls::DestroyExternalSemaphore, calls::MemMapArrayAsync>;

/// It takes an allocation handle by value, in a parameter called `handle`.
template <class CallStruct>
inline constexpr bool kTakesHandle = [] {
  if constexpr (requires(const CallStruct& call) { call.handle; }) {
    return std::is_same_v<decltype(CallStruct::handle), CUmemGenericAllocationHandle>;
  } else {
    return false;
  }
}();

/// It is performed on the stream of a parameter called `hStream`.
template <class CallStruct>
inline constexpr bool kOnStream = requires(const CallStruct& call) {
  call.hStream;
};

}  // namespace cuvmm::shim
