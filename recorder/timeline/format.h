// SPDX-License-Identifier: Apache-2.0
// What happened to a process's memory, and when: the section's bytes, for who writes and who reads
// them.
//
// It does not grow with the run. The first events and the last ones are kept; of those between
// them, how many there were. Sums over the run are kept as samples, ever farther apart: but not for
// the first events, from which they can be told.
//
// An event's time is when its call began, whether it made or ended something: what a call made is
// seen to live from there, and the events of one call have one time. Events stand in the order in
// which they happened to the model. Where an earlier one has a later time, of another thread's
// call, who reads takes that time for both: it lies within either call. So times never fall, and no
// two objects have one address at once. Of a process without a ring of its last calls (CUVMM_RING,
// which cuvmm run sets), the time is when the event was written: of an end before the driver was
// asked, of a begin after it answered.
//
// An event says by itself that it is whole. Events are counted, and their bytes summed, only every
// so often: whoever reads the file of a process that was killed counts the last ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/file_format.h"
#include "rulebook/base/violation.h"

namespace cuvmm::timeline {

inline constexpr std::size_t kFirstEvents = std::size_t{1} << 17;
inline constexpr std::size_t kLastEvents = std::size_t{1} << 19;
inline constexpr std::size_t kSamples = 4096;
inline constexpr std::uint64_t kFirstStride = 64;  ///< events from one sample to the next, at first
inline constexpr std::uint64_t kMostUncounted = 1024;  ///< events

enum class Object : std::uint8_t {
  kReservation,
  kAllocation,
  kImport,
  kMapping,
  kExport,
  kDevice,  ///< of cuMemAlloc and its like
  kManaged,
  kHost,
  kRegistered,
  kPool,
  kIpc,
  kMulticast,       ///< a multicast object that this process made
  kExternal,        ///< another API's memory, imported
  kExternalBuffer,  ///< an address of it; `other`: its handle; `more`: the offset there
  kSummed,          ///< the kinds up to here: those that follow have no bytes of their own
  /// Memory bound to a multicast object, the key; `other`: the memory; `more`: use_word() with the
  /// offset in the object. A binding ends with its memory at the latest.
  kBinding = kSummed,
  /// Memory in a region of a sparse array, the key; `other`: the memory; `more`: use_word() with
  /// the offset in the memory.
  kSparse,
  kCount
};

enum class What : std::uint8_t {
  kBegin,   ///< size; `other`: a mapping's or an export's handle; `more`: a mapping's offset
  kEnd,     ///< size; `other`: the call that made it; `more`: that call's stack
  kAccess,  ///< of [key, key + size): `more`: location type, and id << 32; `other`: its flags
  kUndone,  ///< the driver refused the call: its events do not count
  kAlive,   ///< it lives at the end, and its begin is no longer kept: as kEnd
  kShows,   ///< behind the kAlive of a use: its words are those of the begin
  kCount
};

/// One call can make several uses of one object, so they have numbers. Of a begin, `low` is an
/// offset; of an end, the stack of the call that made the use.
constexpr std::uint64_t use_word(std::uint64_t low, std::uint64_t number) noexcept {
  return (low & ((std::uint64_t{1} << 48) - 1)) | number << 48;
}
constexpr std::uint64_t use_number(std::uint64_t word) noexcept { return word >> 48; }
/// Whether it is a way in which other objects' memory is used.
constexpr bool is_use(Object object) noexcept {
  return object == Object::kBinding || object == Object::kSparse;
}

/// Its words have the order in which the shim finds them: two are copied at once.
struct Event {
  std::uint64_t ticks;  ///< of recorder::now_ticks()
  Origin by;
  std::uint64_t key;   ///< address, handle or descriptor
  std::uint64_t size;  ///< bytes; 0 unknown
  std::uint64_t more;
  std::uint64_t other;
  // The last word, written last and at once.
  What what;
  Object object;
  std::int16_t device;  ///< of the memory; -1 unknown, or none
  std::uint32_t round;  ///< round_of(); another one: the event is not there
};
static_assert(sizeof(Event) == 64 && offsetof(Event, what) == 56);

/// Bytes by kind, at one moment.
struct Sums {
  std::uint64_t objects[static_cast<std::size_t>(Object::kSummed)];
};
struct Sample {
  std::uint64_t ticks;
  std::uint64_t call;
  std::uint64_t peak;  ///< most physical memory of this process since the sample before
  Sums sums;
};

/// What is known of the first so many events.
struct Count {
  std::uint64_t events;
  Sums sums;
  std::uint64_t peak, peak_ticks, peak_call;
};

struct Header {
  recorder::FileHeader file;
  Count counts[2];       ///< one is whole while the other one is written
  std::uint64_t newest;  ///< which of them is
  std::uint64_t samples;
  std::uint64_t stride;   ///< events from one sample to the next; a power of two
  std::uint64_t stopped;  ///< 1: there was no more room on the disk, and recording ended
};

struct Image {
  union {
    Header header;
    char page[4096];
  };
  Sample samples[kSamples];
  alignas(4096) Event events[kFirstEvents + kLastEvents];
};

static_assert(sizeof(Header) <= 4096);

inline constexpr recorder::Shape kShape{
    recorder::Section::kTimeline,
    sizeof(Image) * 31 + static_cast<std::uint64_t>(Object::kCount) + (kFirstStride << 32),
    sizeof(Image)};

/// Where event number `n` (from 0) has its place.
inline std::size_t place_of(std::uint64_t n) noexcept {
  if (n < kFirstEvents) return static_cast<std::size_t>(n);
  return kFirstEvents + static_cast<std::size_t>((n - kFirstEvents) % kLastEvents);
}

/// How often its place was written by then, with it.
inline std::uint32_t round_of(std::uint64_t n) noexcept {
  if (n < kFirstEvents) return 1;
  return static_cast<std::uint32_t>(1 + (n - kFirstEvents) / kLastEvents);
}

/// How many events there are, of which `counted` are counted. `events`: all places.
inline std::uint64_t count_events(const Event* events, std::uint64_t counted) noexcept {
  std::uint64_t n = counted;
  while (n - counted < kMostUncounted && events[place_of(n)].round == round_of(n)) ++n;
  return n;
}

/// Whether it is memory that its process made: imports and opens are of others.
constexpr bool is_physical(Object object) noexcept {
  using O = Object;
  constexpr auto kBit = [](O one) { return 1u << static_cast<unsigned>(one); };
  constexpr unsigned kPhysical =
      kBit(O::kAllocation) | kBit(O::kDevice) | kBit(O::kManaged) | kBit(O::kPool);
  return (kPhysical >> static_cast<unsigned>(object) & 1) != 0;
}
inline std::uint64_t physical(const Sums& sums) noexcept {
  using O = Object;
  const auto of = [&](O one) { return sums.objects[static_cast<std::size_t>(one)]; };
  return of(O::kAllocation) + of(O::kDevice) + of(O::kManaged) + of(O::kPool);
}

/// Adds the event's bytes; `back`: it did not happen. False where it has no part in physical
/// memory.
inline bool sum(Sums& sums, const Event& event, bool back = false) noexcept {
  const bool begins = event.what == What::kBegin;
  if (!begins && event.what != What::kEnd) return false;
  if (event.object >= Object::kSummed) return false;
  sums.objects[static_cast<std::size_t>(event.object)] +=
      begins != back ? event.size : 0 - event.size;
  return is_physical(event.object);
}

/// Counts the next event. Returns the physical memory after it; 0 where that did not change.
inline std::uint64_t count(Count& all, const Event& event) noexcept {
  ++all.events;
  if (!sum(all.sums, event)) return 0;
  const std::uint64_t now = physical(all.sums);
  if (now > all.peak) {
    all.peak = now;
    all.peak_ticks = event.ticks;
    all.peak_call = event.by.call;
  }
  return now;
}

}  // namespace cuvmm::timeline
