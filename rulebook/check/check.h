// SPDX-License-Identifier: Apache-2.0
// check(): the rules that a call breaks, as far as the model knows. Const, and without side
// effects.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rulebook/model/model.h"

namespace cuvmm {

// One overload per entry point, each in the rulebook/*/check_*.cc named for its area. Violations
// come in the order of the checks; a driver's own order is in its profile
// (rulebook/profile/profile.h).
//
// This declares check() for every line of api/entry_points.def except the areas `data` and `order`.
// Copies and fills of area `data` go through check_touches() below, and the other calls of that
// area are declared by hand. No rule is about area `order`. The linker reports an overload without
// a definition.
#define CUVMM_DECLARE(Name) Violations check(const Model&, const calls::Name&, const Facts& = {});
#define CUVMM_LEAVE_OUT(Name)
// CUVMM_ONE_OF_data begins with a comma, which moves CUVMM_LEAVE_OUT to second place. For any other
// area no such macro exists, so CUVMM_DECLARE stays in second place.
#define CUVMM_ONE_OF_data , CUVMM_LEAVE_OUT
#define CUVMM_ONE_OF_order , CUVMM_LEAVE_OUT
#define CUVMM_SECOND(first, second, ...) second
#define CUVMM_CHOOSE(...) CUVMM_SECOND(__VA_ARGS__, CUVMM_DECLARE, )
#define CUVMM_ENTRY(Name, area, ...) CUVMM_CHOOSE(CUVMM_ONE_OF_##area)(Name)
#include "api/entry_points.def"

/// Whether the call only orders work, or queues work whose memory its arguments do not name.
template <class CallStruct>
inline constexpr bool kOrdersWork = false;
#undef CUVMM_DECLARE
#undef CUVMM_ONE_OF_order
#define CUVMM_DECLARE(Name)
#define CUVMM_ORDERS(Name) \
  template <>              \
  inline constexpr bool kOrdersWork<calls::Name> = true;
#define CUVMM_ONE_OF_order , CUVMM_ORDERS
#define CUVMM_ENTRY(Name, area, ...) CUVMM_CHOOSE(CUVMM_ONE_OF_##area)(Name)
#include "api/entry_points.def"
#undef CUVMM_DECLARE
#undef CUVMM_ORDERS

#define CUVMM_DECLARE(Name) Violations check(const Model&, const calls::Name&, const Facts& = {});
CUVMM_DECLARE(MemFree)
CUVMM_DECLARE(MemFreeAsync)

// The checks of calls that programs make very often.
#define CUVMM_HOT(Name) \
  [[gnu::hot]] Violations check(const Model&, const calls::Name&, const Facts&);
CUVMM_HOT(MemAddressReserve)
CUVMM_HOT(MemAddressFree)
CUVMM_HOT(MemCreate)
CUVMM_HOT(MemRelease)
CUVMM_HOT(MemMap)
CUVMM_HOT(MemUnmap)
CUVMM_HOT(MemSetAccess)
CUVMM_HOT(MemGetAccess)
CUVMM_HOT(MemGetAllocationGranularity)
CUVMM_HOT(MemGetAllocationPropertiesFromHandle)
CUVMM_HOT(MemRetainAllocationHandle)
#undef CUVMM_DECLARE
#undef CUVMM_LEAVE_OUT
#undef CUVMM_ONE_OF_data
#undef CUVMM_ONE_OF_order
#undef CUVMM_SECOND
#undef CUVMM_CHOOSE
#undef CUVMM_HOT

/// Checks copies and fills (every entry point of area `data` except the frees): every byte that
/// they touch in a reservation of the model must be mapped, and accessible to the device that
/// touches it. Says nothing about bytes outside of every known reservation.
struct Touch;
[[gnu::hot]] Violations check_touches(const Model&, EntryPoint entry, const Touch* touches,
                                      std::size_t count, const Facts& = {});

/// Checks the same calls after the driver refused them without a violation that explains the
/// refusal: do they touch memory or address space that has ended, or more than the memory in which
/// they begin? Never certain, because other memory may lie there now.
Violations check_refused_touches(const Model&, const Touch* touches, std::size_t count);

/// Checks a touch that the driver refused: has `device` access to the memory of the pool? check()
/// looks only at pools that the program shares, or gives access to. `owner`: the device that the
/// driver names for the memory, -1 unknown. Never certain.
Violations check_refused_pool(const Model&, const Touch& touch, int device, int owner);

/// Whether check() has an overload for the struct; copies and fills go through check_touches().
template <class CallStruct>
inline constexpr bool checked_by_itself = requires(const Model& model, const CallStruct& call) {
  static_cast<Violations (*)(const Model&, const CallStruct&, const Facts&)>(&check);
};

/// check() for any intercepted call; other calls yield nothing.
Violations check(const Model&, const Call&, const Facts& = {});

/// The threads (Origin::thread) that still run while the process ends. An object that such a thread
/// made or used last is no leak, because the thread may be between a create and its map, say.
struct StillRunning {
  StillRunning() = default;
  /// `running` is sorted and outlives this object.
  // NOLINTNEXTLINE(google-explicit-constructor): it is a list of threads
  StillRunning(std::span<const std::uint32_t> running) : threads(running) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  StillRunning(const std::vector<std::uint32_t>& running) : threads(running) {}

  bool works_with(Origin last) const;

  std::span<const std::uint32_t> threads;
  /// A thread that ends the process in a signal handler, 0 none. The signal interrupted the work
  /// that the thread began with its calls from number `since` on.
  std::uint32_t interrupted = 0;
  std::uint64_t since = 0;
};

/// The objects that have not ended when the process ends: one violation of a leak rule per object.
/// `fd_open` tells whether a descriptor is still open and still the exported one.
Violations check_exit(const Model&, bool (*fd_open)(const Export&), const StillRunning& = {});
/// The mistakes in the program's close() of a descriptor. `open`: whether the number stands for an
/// open file.
Violations check_close(const Model&, int fd, bool open);
/// Reservations that the program no longer uses and never freed.
struct Abandoned {
  /// In the order in which they were made; not empty. One stack (Origin::stack) made them all,
  /// unless their frees failed.
  std::vector<const Reservation*> reservations;
  bool free_failed = false;
};
/// The reservations that check_exit() reports, all empty. Either cuMemAddressFree failed, or each
/// of them held mappings, and the same code went on to make others, each after the one before was
/// empty, and never mapped into one a second time. An empty reservation into which the program may
/// map again, such as an allocator's, is not reported.
std::vector<Abandoned> abandoned_reservations(const Model&, const StillRunning& = {});
/// Whether check_exit() reports the allocation: it has references, no mapping shows it, and no
/// running thread may still be using it.
bool leaks(const Model&, const Allocation&, const StillRunning& = {});

}  // namespace cuvmm
