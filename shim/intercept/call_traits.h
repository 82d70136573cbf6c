// SPDX-License-Identifier: Apache-2.0
// What the wrapper template asks of a call struct at compile time.
#pragma once

#include <string_view>
#include <type_traits>

#include "api/calls.h"
#include "rulebook/check.h"
#include "rulebook/model/model.h"

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

/// A copy or fill: only the bytes that touches() names are checked. Every other entry point has a
/// check() of its own. shim/intercept/every_entry_test.cc makes sure that each entry point has one
/// of the two.
template <class CallStruct>
inline constexpr bool kTouches = detail::area_of(CallStruct::kEntryPoint) == "data" &&
                                 !checked_by_itself<CallStruct>;

/// Any number of copies in one call.
template <class CallStruct>
inline constexpr bool kBatch =
#if CUDA_VERSION >= 13000
    std::is_same_v<CallStruct, calls::MemcpyBatchAsync>;
#else
    false;
#endif

/// It ends a context, or gives up a reference to one. cuvmm follows it because other objects end
/// with the context. No rule is about it, and a trace leaves it out.
template <class CallStruct>
inline constexpr bool kEndsContext = detail::area_of(CallStruct::kEntryPoint) == "context";

/// A success begins or ends an object, so a later report will want to say who did it.
template <class CallStruct>
inline constexpr bool kMakesHistory = detail::kIsOneOf<
    CallStruct, calls::MemAddressReserve, calls::MemAddressFree, calls::MemCreate,
    calls::MemRelease, calls::MemMap, calls::MemUnmap, calls::MemRetainAllocationHandle,
    calls::MemExportToShareableHandle, calls::MemImportFromShareableHandle, calls::MulticastCreate,
    calls::MulticastAddDevice, calls::MulticastBindMem, calls::MulticastBindAddr,
    calls::MulticastBindMem_v2, calls::MulticastBindAddr_v2, calls::MulticastUnbind,
    calls::ImportExternalMemory, calls::ExternalMemoryGetMappedBuffer, calls::DestroyExternalMemory,
    calls::ImportExternalSemaphore, calls::DestroyExternalSemaphore, calls::IpcGetMemHandle,
    calls::IpcOpenMemHandle, calls::IpcCloseMemHandle, calls::MemPoolCreate, calls::MemPoolDestroy,
    calls::MemPoolImportFromShareableHandle, calls::MemAllocFromPoolAsync,
    calls::MemPoolImportPointer, calls::MemMapArrayAsync>;

/// It gives up names: Model::retire() takes them out before the call is forwarded.
template <class CallStruct>
inline constexpr bool kRetires = requires(Model& model, const CallStruct& call, Retired& retired) {
  model.retire(call, retired);
};

/// What it gives up is moved to the history at once, under the lock that the check needs anyway.
/// Then nothing is left to do after the driver answered. Drivers hardly ever refuse such a call; if
/// one does, Model::unbury() takes the move back.
template <class CallStruct>
inline constexpr bool kBuriesAtOnce =
    detail::kIsOneOf<CallStruct, calls::MemRelease, calls::MemUnmap, calls::MemAddressFree>;

/// The driver does not choose the name of what it makes. So Model::record() notes it at once, under
/// the lock that the check needs anyway. If the driver refuses, Model::unrecord() takes that back.
template <class CallStruct>
inline constexpr bool kRecordsAtOnce =
    detail::kIsOneOf<CallStruct, calls::MemMap, calls::MemSetAccess>;

/// It imports memory by a descriptor that the call may close.
template <class CallStruct>
inline constexpr bool kImportsMemory =
    detail::kIsOneOf<CallStruct, calls::MemImportFromShareableHandle, calls::ImportExternalMemory>;

/// A success is recorded by a Model::commit().
template <class CallStruct>
inline constexpr bool kCommits = std::is_same_v<CallStruct, calls::MemImportFromShareableHandle> ||
                                 requires(Model& model, const CallStruct& call, const Facts& facts,
                                          Origin at) {
  model.commit(call, facts, at);
}
|| requires(Model& model, const CallStruct& call, Origin at) { model.commit(call, at); };

/// Its check() reads nothing of the model but the platform.
template <class CallStruct>
inline constexpr bool kChecksPlatformOnly =
    detail::kIsOneOf<CallStruct, calls::MemAddressReserve, calls::MemCreate,
                     calls::MemGetAllocationGranularity>;

/// It takes the model's lock only once the driver answered, and has its number from then on.
template <class CallStruct>
inline constexpr bool kNumberedLate = kChecksPlatformOnly<CallStruct>&& kCommits<CallStruct>;

/// The handles that it takes by value, in parameters called `handle`, `mcHandle` and `memHandle`:
/// visit(handle) for each.
template <class CallStruct, class Visitor>
void visit_handles(const CallStruct& call, Visitor&& visit) {
  const auto one = [&](const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, CUmemGenericAllocationHandle>) {
      visit(value);
    }
  };
  if constexpr (requires { call.handle; }) one(call.handle);
  if constexpr (requires { call.mcHandle; }) one(call.mcHandle);
  if constexpr (requires { call.memHandle; }) one(call.memHandle);
}

/// It needs a current context, and the answer depends on which.
template <class CallStruct>
inline constexpr bool kAsksContext =
    detail::kIsOneOf<CallStruct, calls::IpcGetMemHandle, calls::IpcOpenMemHandle,
                     calls::IpcCloseMemHandle, calls::IpcOpenEventHandle>;

/// It takes a pool by value, in a parameter called `pool`.
template <class CallStruct>
inline constexpr bool kTakesPool = [] {
  if constexpr (requires(const CallStruct& call) { call.pool; }) {
    return std::is_same_v<decltype(CallStruct::pool), CUmemoryPool>;
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
