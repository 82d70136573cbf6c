// What the wrapper template asks of a call struct at compile time.
#pragma once

#include <string_view>
#include <type_traits>

#include "api/calls.h"
#include "spec/check.h"
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

/// A copy or fill: all that is checked of it is the bytes that touches() names. What has a check()
/// of its own goes through that: shim/every_entry_test.cc holds each entry to one of the two.
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

/// It ends a context, or gives up one that others may still hold. Followed for what ends with it;
/// no rule is about it, and a recording of calls on memory does without it.
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

/// What it gives up becomes history in the same look at the model: drivers hardly ever refuse it,
/// and then Model::unbury() takes that back. So nothing is left to do once the driver answered.
template <class CallStruct>
inline constexpr bool kBuriesAtOnce =
    detail::kIsOneOf<CallStruct, calls::MemRelease, calls::MemUnmap, calls::MemAddressFree>;

/// What it makes has no name that the driver chooses, so that Model::record() may note it in the
/// same look at the model that checks it; Model::unrecord() takes that back where it is refused.
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
