// SPDX-License-Identifier: Apache-2.0
// check(): which rules a call would break, given the model's view. Const, and pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rulebook/model/model.h"

namespace cuvmm {

// One overload per entry point, each in the rulebook/*/check_*.cc named for its area. Violations
// come in the order of the checks; a driver's own order is its profile's
// (rulebook/profile/profile.h). Declared here for every line of api/entry_points.def but those of
// area `data`: copies and fills go through check_touches() below, and the few others of that area
// are declared by hand; and but those of area `order`, which no rule is about. An overload that
// nobody defines is an error of the linker.
#define CUVMM_DECLARE(Name) Violations check(const Model&, const calls::Name&, const Facts& = {});
#define CUVMM_LEAVE_OUT(Name)
// CUVMM_ONE_OF_data is a macro with a comma in it: so the comma moves CUVMM_LEAVE_OUT to second
// place. For any other area nothing of that name is a macro, and CUVMM_DECLARE stays there.
#define CUVMM_ONE_OF_data , CUVMM_LEAVE_OUT
#define CUVMM_ONE_OF_order , CUVMM_LEAVE_OUT
#define CUVMM_SECOND(first, second, ...) second
#define CUVMM_CHOOSE(...) CUVMM_SECOND(__VA_ARGS__, CUVMM_DECLARE, )
#define CUVMM_ENTRY(Name, area, ...) CUVMM_CHOOSE(CUVMM_ONE_OF_##area)(Name)
#include "api/entry_points.def"

/// Whether the call only queues work whose memory its arguments do not name, or orders work.
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

// The checks of calls that programs make all the time.
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

/// Copies and fills (every entry point of area `data` but the frees): every byte they touch that
/// lies in a reservation of the model is mapped, and accessible to the device that touches it.
/// A byte outside every known reservation is none of our business.
struct Touch;
[[gnu::hot]] Violations check_touches(const Model&, EntryPoint entry, const Touch* touches,
                                      std::size_t count, const Facts& = {});

/// The same calls once the driver refused them without a violation that says why: whether they
/// touch memory or address space that has ended, or more than the memory in which they begin. Never
/// certain: other memory may lie there now.
Violations check_refused_touches(const Model&, const Touch* touches, std::size_t count);

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
/// What is wrong with the program's close() of a descriptor. `open`: whether the number stands for
/// an open file.
Violations check_close(const Model&, int fd, bool open);
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
