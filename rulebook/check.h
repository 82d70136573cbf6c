// SPDX-License-Identifier: Apache-2.0
// check(): which rules a call would break, given the model's view. Const, and pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rulebook/model/model.h"

namespace cuvmm {

// One overload per entry point, each in the rulebook/check_*.cc named for its area. Violations come
// in the order of the checks; a driver's own order is its profile's (rulebook/profile/profile.h).
[[gnu::hot]] Violations check(const Model&, const calls::MemAddressReserve&, const Facts& = {});
[[gnu::hot]] Violations check(const Model&, const calls::MemAddressFree&, const Facts& = {});
[[gnu::hot]] Violations check(const Model&, const calls::MemCreate&, const Facts& = {});
[[gnu::hot]] Violations check(const Model&, const calls::MemRelease&, const Facts& = {});
[[gnu::hot]] Violations check(const Model&, const calls::MemMap&, const Facts& = {});
[[gnu::hot]] Violations check(const Model&, const calls::MemUnmap&, const Facts& = {});
[[gnu::hot]] Violations check(const Model&, const calls::MemSetAccess&, const Facts& = {});
[[gnu::hot]] Violations check(const Model&, const calls::MemGetAccess&, const Facts& = {});
Violations check(const Model&, const calls::MemExportToShareableHandle&, const Facts& = {});
Violations check(const Model&, const calls::MemImportFromShareableHandle&, const Facts& = {});
[[gnu::hot]] Violations check(const Model&, const calls::MemGetAllocationGranularity&,
                              const Facts& = {});
[[gnu::hot]] Violations check(const Model&, const calls::MemGetAllocationPropertiesFromHandle&,
                              const Facts& = {});
[[gnu::hot]] Violations check(const Model&, const calls::MemRetainAllocationHandle&,
                              const Facts& = {});
Violations check(const Model&, const calls::MemGetHandleForAddressRange&, const Facts& = {});
Violations check(const Model&, const calls::MemFree&, const Facts& = {});
Violations check(const Model&, const calls::MemFreeAsync&, const Facts& = {});
Violations check(const Model&, const calls::MulticastCreate&, const Facts& = {});
Violations check(const Model&, const calls::MulticastAddDevice&, const Facts& = {});
Violations check(const Model&, const calls::MulticastBindMem&, const Facts& = {});
Violations check(const Model&, const calls::MulticastBindAddr&, const Facts& = {});
Violations check(const Model&, const calls::MulticastBindMem_v2&, const Facts& = {});
Violations check(const Model&, const calls::MulticastBindAddr_v2&, const Facts& = {});
Violations check(const Model&, const calls::MulticastUnbind&, const Facts& = {});
Violations check(const Model&, const calls::MulticastGetGranularity&, const Facts& = {});
Violations check(const Model&, const calls::IpcGetMemHandle&, const Facts& = {});
Violations check(const Model&, const calls::IpcOpenMemHandle&, const Facts& = {});
Violations check(const Model&, const calls::IpcCloseMemHandle&, const Facts& = {});
Violations check(const Model&, const calls::IpcGetEventHandle&, const Facts& = {});
Violations check(const Model&, const calls::IpcOpenEventHandle&, const Facts& = {});
Violations check(const Model&, const calls::ImportExternalMemory&, const Facts& = {});
Violations check(const Model&, const calls::ExternalMemoryGetMappedBuffer&, const Facts& = {});
Violations check(const Model&, const calls::ExternalMemoryGetMappedMipmappedArray&,
                 const Facts& = {});
Violations check(const Model&, const calls::DestroyExternalMemory&, const Facts& = {});
Violations check(const Model&, const calls::ImportExternalSemaphore&, const Facts& = {});
Violations check(const Model&, const calls::SignalExternalSemaphoresAsync&, const Facts& = {});
Violations check(const Model&, const calls::WaitExternalSemaphoresAsync&, const Facts& = {});
Violations check(const Model&, const calls::DestroyExternalSemaphore&, const Facts& = {});
Violations check(const Model&, const calls::MemMapArrayAsync&, const Facts& = {});
Violations check(const Model&, const calls::MemPoolCreate&, const Facts& = {});
Violations check(const Model&, const calls::MemPoolDestroy&, const Facts& = {});
Violations check(const Model&, const calls::MemAllocFromPoolAsync&, const Facts& = {});
Violations check(const Model&, const calls::MemPoolExportToShareableHandle&, const Facts& = {});
Violations check(const Model&, const calls::MemPoolImportFromShareableHandle&, const Facts& = {});
Violations check(const Model&, const calls::MemPoolExportPointer&, const Facts& = {});
Violations check(const Model&, const calls::MemPoolImportPointer&, const Facts& = {});
Violations check(const Model&, const calls::MemPoolSetAccess&, const Facts& = {});
Violations check(const Model&, const calls::DeviceSetMemPool&, const Facts& = {});

/// No rule is about the end of a context: nothing, ever.
Violations check(const Model&, const calls::CtxDestroy&, const Facts& = {});
Violations check(const Model&, const calls::DevicePrimaryCtxRelease&, const Facts& = {});
Violations check(const Model&, const calls::DevicePrimaryCtxReset&, const Facts& = {});

/// Copies and fills (every entry point of area `data` but the frees): every byte they touch that
/// lies in a reservation of the model is mapped, and accessible to the device that touches it.
/// A byte outside every known reservation is none of our business.
struct Touch;
[[gnu::hot]] Violations check_touches(const Model&, EntryPoint entry, const Touch* touches,
                                      std::size_t count, const Facts& = {});

/// The same calls once the driver refused them without a violation that says why: whether they
/// touch address space that was freed. Never certain: memory of another kind may lie there now.
Violations check_refused_touches(const Model&, const Touch* touches, std::size_t count);

#if CUDA_VERSION >= 13000
/// A batch is any number of copies, each checked as cuMemcpyAsync would be; the first mistakes of
/// it are found.
Violations check(const Model&, const calls::MemcpyBatchAsync&, const Facts& = {});
#endif

/// Whether check() has an overload for the struct; copies and fills go through check_touches().
template <class CallStruct>
inline constexpr bool checked_by_itself = requires(const Model& model, const CallStruct& call) {
  static_cast<Violations (*)(const Model&, const CallStruct&, const Facts&)>(&check);
};

/// Any call of the vocabulary; calls that are not intercepted yield nothing.
Violations check(const Model&, const Call&, const Facts& = {});

/// The threads (Origin::thread) that go on while the process ends: what one of them made or used
/// last may be on its way, between a create and its map, say.
struct StillRunning {
  StillRunning() = default;
  /// In order; they outlive this.
  // NOLINTNEXTLINE(google-explicit-constructor): it is a list of threads
  StillRunning(std::span<const std::uint32_t> running) : threads(running) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  StillRunning(const std::vector<std::uint32_t>& running) : threads(running) {}

  bool works_with(Origin last) const;

  std::span<const std::uint32_t> threads;
  /// A thread that ends the process in a signal handler, 0 none: it was in the middle of what its
  /// calls from number `since` on began.
  std::uint32_t interrupted = 0;
  std::uint64_t since = 0;
};

/// What never ended when the process does: one violation of a leak rule per object.
/// `fd_open` says whether a descriptor is still open and still the exported one.
Violations check_exit(const Model&, bool (*fd_open)(const Export&), const StillRunning& = {});
/// Reservations that the program is done with and never freed.
struct Abandoned {
  /// In the order in which they were made; not empty. Made by one stack (Origin::stack), unless the
  /// free of each failed.
  std::vector<const Reservation*> reservations;
  bool free_failed = false;
};
/// Those that check_exit() names, all empty. Either cuMemAddressFree failed; or they held mappings,
/// and the code that made them made others, again and again, each when the one before it was empty,
/// and never mapped into one a second time: so it does not come back. An empty reservation that the
/// program may map into again, an allocator's say, is none.
std::vector<Abandoned> abandoned_reservations(const Model&, const StillRunning& = {});
/// Whether check_exit() would name the allocation: referenced, shown by nothing, and not on its
/// way.
bool leaks(const Model&, const Allocation&, const StillRunning& = {});

}  // namespace cuvmm
