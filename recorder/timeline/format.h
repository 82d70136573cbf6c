// SPDX-License-Identifier: Apache-2.0
// The events of a process's memory, with their times. This file defines the bytes of the section,
// for the writer and the readers.
//
// The file does not grow with the run. It keeps the first events and the last ones, and the number
// of those between them. It keeps sums over the run as samples, whose distance grows. Readers
// compute the sums of the first events from the events themselves.
//
// An event's time is the begin of its call, for calls that make and calls that end objects. So an
// object lives from the begin of the call that made it, and all events of one call have one time.
// Events stand in the order in which the model changed. Where an earlier event has a later time,
// from another thread's call, readers take that later time for both: it lies within both calls. So
// times never fall, and no two objects have one address at once. In a process without a ring of its
// last calls (CUVMM_RING, which cuvmm run sets), the time is when the event was written: for an end
// before the driver was called, for a begin after the driver answered.
//
// Each event shows by itself whether it is whole. The writer counts events, and sums their bytes,
// only now and then: a reader of a killed process's file counts the last events itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/file_format.h"
#include "rulebook/base/violation.h"

namespace cuvmm::timeline {

inline constexpr std::size_t kFirstEvents = std::size_t{1} << 17;
inline constexpr std::size_t kLastEvents = std::size_t{1} << 19;
inline constexpr std::size_t kSamples = 4096;
inline constexpr std::uint64_t kFirstStride = 64;      ///< events between two samples, at first
inline constexpr std::uint64_t kMostUncounted = 1024;  ///< events

enum class Object : std::uint8_t {
  kReservation,
  kAllocation,
  kImport,
  kMapping,
  kExport,
  kDevice,  ///< of cuMemAlloc and its kin
  kManaged,
  kHost,
  kRegistered,
  kPool,
  kIpc,
  kMulticast,       ///< made by this process
  kExternal,        ///< imported memory of another API
  kExternalBuffer,  ///< an address in kExternal memory; `other`: its handle; `more`: the offset
  kSummed,          ///< kinds before this one have bytes of their own; later kinds have none
  /// Memory bound to a multicast object. The key is the object; `other`: the memory; `more`:
  /// use_word() with the offset in the object. A binding ends with its memory at the latest.
  kBinding = kSummed,
  /// Memory in a region of a sparse array. The key is the array; `other`: the memory; `more`:
  /// use_word() with the offset in the memory.
  kSparse,
  kCount
};

enum class What : std::uint8_t {
  kBegin,   ///< size; `other`: a mapping's or an export's handle; `more`: a mapping's offset
  kEnd,     ///< size; `other`: number of the call that made it; `more`: the stack of that call
  kAccess,  ///< of [key, key + size): `more`: location type, and id << 32; `other`: its flags
  kUndone,  ///< the driver refused the call: its events do not count
  kAlive,   ///< the object lives at the end, and its begin is no longer kept; words as of kEnd
  kShows,   ///< follows the kAlive of a use, with the words of the use's begin
  kCount
};

/// One call can make several uses of one object, so uses have numbers. `low` is an offset in the
/// event of a begin, and in the event of an end the stack of the call that made the use.
constexpr std::uint64_t use_word(std::uint64_t low, std::uint64_t number) noexcept {
  return (low & ((std::uint64_t{1} << 48) - 1)) | number << 48;
}
constexpr std::uint64_t use_number(std::uint64_t word) noexcept { return word >> 48; }
/// Whether the kind is a use of another object's memory.
constexpr bool is_use(Object object) noexcept {
  return object == Object::kBinding || object == Object::kSparse;
}

/// The words stand in the order in which the shim has them, so that two are copied at once.
struct Event {
  std::uint64_t ticks;  ///< on recorder::now_ticks()
  Origin by;
  std::uint64_t key;   ///< address, handle or descriptor
  std::uint64_t size;  ///< bytes; 0 unknown
  std::uint64_t more;
  std::uint64_t other;
  // The last word of an event is written last and at once.
  What what;
  Object object;
  std::int16_t device;  ///< device of the memory; -1 unknown, or none
  std::uint32_t round;  ///< round_of() its number; a reader skips an event with another value
};
static_assert(sizeof(Event) == 64 && offsetof(Event, what) == 56);

/// Bytes of each kind, at one moment.
struct Sums {
  std::uint64_t objects[static_cast<std::size_t>(Object::kSummed)];
};
struct Sample {
  std::uint64_t ticks;
  std::uint64_t call;
  std::uint64_t peak;  ///< most physical memory of this process since the sample before
  Sums sums;
};

/// The number of the first events, and the sums after them.
struct Count {
  std::uint64_t events;
  Sums sums;
  std::uint64_t peak, peak_ticks, peak_call;
};

struct Header {
  recorder::FileHeader file;
  Count counts[2];       ///< the writer changes one while readers use the other
  std::uint64_t newest;  ///< index of the one that readers use
  std::uint64_t samples;
  std::uint64_t stride;   ///< events between two samples; a power of two
  std::uint64_t stopped;  ///< 1: the disk was full, and recording ended
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

/// The place of event number `n` (from 0).
inline std::size_t place_of(std::uint64_t n) noexcept {
  if (n < kFirstEvents) return static_cast<std::size_t>(n);
  return kFirstEvents + static_cast<std::size_t>((n - kFirstEvents) % kLastEvents);
}

/// How often the place of event `n` has been written, with this event.
inline std::uint32_t round_of(std::uint64_t n) noexcept {
  if (n < kFirstEvents) return 1;
  return static_cast<std::uint32_t>(1 + (n - kFirstEvents) / kLastEvents);
}

/// The number of events. `counted` of them are counted already; `events` are all places.
inline std::uint64_t count_events(const Event* events, std::uint64_t counted) noexcept {
  std::uint64_t n = counted;
  while (n - counted < kMostUncounted && events[place_of(n)].round == round_of(n)) ++n;
  return n;
}

/// Whether this process made the physical memory: imported and opened memory belongs to another
/// process.
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

/// Adds the event's bytes to the sums; `back` subtracts them, for a call that was refused. False
/// where the event does not change physical memory.
inline bool sum(Sums& sums, const Event& event, bool back = false) noexcept {
  const bool begins = event.what == What::kBegin;
  if (!begins && event.what != What::kEnd) return false;
  if (event.object >= Object::kSummed) return false;
  sums.objects[static_cast<std::size_t>(event.object)] +=
      begins != back ? event.size : 0 - event.size;
  return is_physical(event.object);
}

/// Counts the next event. Returns the physical memory after it; 0 where the event did not change
/// it.
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
