// SPDX-License-Identifier: Apache-2.0
// A process's last calls, in a file that outlives it: the section's bytes, for who writes and who
// reads them. All of it has its place from the start, so that a process which dies in the middle of
// a call leaves a whole file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "recorder/file_format.h"

namespace cuvmm::last_calls {

using recorder::kTextBytes;

inline constexpr std::size_t kCalls = 4096;   ///< the last ones that are kept; a power of two
inline constexpr std::size_t kEnds = 4096;    ///< ends of objects; a power of two
inline constexpr std::size_t kThreads = 256;  ///< whose current call is kept whatever others do
inline constexpr std::size_t kEntries = 512;  ///< entry points that can be named
inline constexpr std::size_t kLive = 2048;    ///< objects that lived at the fault
inline constexpr std::size_t kMapsBytes = std::size_t{256} << 10;
inline constexpr std::size_t kWords = 4;   ///< arguments of a call
inline constexpr std::size_t kFrames = 8;  ///< return addresses of the call that ended an object

/// In the upper half of a record stands what it is of; these are the lower half.
inline constexpr std::uint32_t kPending = 0xffffffff;  ///< the call has not returned
inline constexpr std::uint32_t kUnwound = 0xfffffffe;  ///< its thread was cancelled in it

enum class State : std::uint32_t { kRunning, kExited, kSignal };

/// How an argument is spelt.
enum class WordKind : std::uint8_t { kNone, kHex, kSize, kNumber };

enum class ObjectKind : std::uint8_t {
  kUnknown,
  kReservation,
  kMapping,
  kAllocation,
  kMemory,
  kPool,
  kPoolMemory,
  kIpcMemory,
  kExternalMemory,
  kExternalBuffer,
  // What `cuvmm run --guard` and `--quarantine` keep the program from.
  kGuardBefore,  ///< it ends where a reservation begins
  kGuardBehind,  ///< it begins where a reservation ends
  kQuarantined,  ///< a reservation that was freed
  kCount
};

/// What an entry point is called, and the arguments that its records hold. No longer than that;
/// nul-terminated where shorter.
struct EntryRow {
  char name[60];
  char words[kWords][16];
  WordKind kinds[kWords];
};
static_assert(sizeof(EntryRow) == 128);

/// One call. Whole if `sequence` is not 0 and the check in `who` is right.
struct CallRecord {
  std::uint64_t sequence;  ///< 1-based number of the call in this process; 0: being written
  std::uint64_t ticks;     ///< when it began (Header says how ticks run)
  std::uint64_t who;       ///< thread in the upper half, then 16 bits entry point, 16 bits check
  std::uint64_t words[kWords];
  std::uint64_t result;  ///< lower half of the sequence above, then the CUresult or kPending
};
static_assert(sizeof(CallRecord) == 64);

/// The end of one object.
struct EndRecord {
  std::uint64_t sequence;  ///< 1-based number of the end; 0: being written
  std::uint64_t ticks;
  std::uint64_t who;  ///< thread, then 8 bits device + 1, 8 bits ObjectKind, 16 bits check
  std::uint64_t base;
  std::uint64_t size;
  std::uint64_t made;  ///< numbers of calls as findings have them; 0 unknown
  std::uint64_t ended;
  std::uint64_t call;             ///< sequence of the call that ended it
  std::uint64_t frames[kFrames];  ///< its return addresses, innermost first; 0: no more
};
static_assert(sizeof(EndRecord) == 128);

struct LiveRecord {
  std::uint64_t base;
  std::uint64_t size;
  std::uint64_t made;
  std::uint64_t who;  ///< as of an end, without thread and check
};
static_assert(sizeof(LiveRecord) == 32);

/// Words of 64 bits, so that each is read and written as one.
struct Header {
  recorder::FileHeader file;
  std::uint64_t calls;  ///< how many there were
  std::uint64_t entries;
  std::uint64_t ends;
  std::uint64_t state;  ///< State
  std::uint64_t signal;
  std::uint64_t fault_result;  ///< the first CUresult that tells of a fault on the device, 0 none
  std::uint64_t fault_call;    ///< sequence of the call that returned it
  std::uint64_t fault_ticks;
  std::uint64_t address_known;  ///< `address` is one of the fault
  std::uint64_t address;
  std::uint64_t live;        ///< records of what lived then
  std::uint64_t live_total;  ///< how many there would have been
  std::uint64_t maps_bytes;
};

/// A thread's call, in a cache line of its own: its thread alone writes it, with each call.
struct alignas(64) ThreadSlot {
  std::uint64_t call;   ///< the sequence of the call that is in the driver; 0: none
  std::uint64_t owner;  ///< the kernel's number of the thread; 0: the slot is free
};
static_assert(sizeof(ThreadSlot) == 64);

struct Image {
  union {
    Header header;
    char page[4096];
  };
  EntryRow entries[kEntries];
  ThreadSlot threads[kThreads];
  CallRecord calls[kCalls];  ///< call n at (n - 1) % kCalls
  /// By its thread's slot: a call that others' calls have pushed out of `calls` while it is in the
  /// driver. It counts as long as the slot names its sequence.
  CallRecord waiting[kThreads];
  EndRecord ends[kEnds];
  LiveRecord live[kLive];
  char maps[kMapsBytes];  ///< /proc/self/maps
};
static_assert(sizeof(Header) <= 4096);
static_assert(sizeof(Image) % 4096 == 0);

inline constexpr recorder::Shape kShape{
    recorder::Section::kLastCalls,
    ((sizeof(Image) * 31 + sizeof(EntryRow)) * 31 + static_cast<std::uint64_t>(ObjectKind::kCount)),
    sizeof(Image)};

/// 16 bits of the words that are written with it.
inline std::uint64_t fold(std::uint64_t sum) noexcept {
  sum ^= sum >> 32;
  return (sum ^ sum >> 16) & 0xffff;
}
inline std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) noexcept {
  return (sum << 7 | sum >> 57) ^ word;
}
/// What the check in `who` must be; `who` without it.
inline std::uint64_t check_of(const CallRecord& r, std::uint64_t who) noexcept {
  std::uint64_t sum = mixed(mixed(r.sequence, r.ticks), who);
  for (const std::uint64_t word : r.words) sum = mixed(sum, word);
  return fold(sum);
}
inline std::uint64_t check_of(const EndRecord& r, std::uint64_t who) noexcept {
  std::uint64_t sum = mixed(mixed(r.sequence, r.ticks), who);
  for (const std::uint64_t word : {r.base, r.size, r.made, r.ended, r.call}) sum = mixed(sum, word);
  for (const std::uint64_t word : r.frames) sum = mixed(sum, word);
  return fold(sum);
}
inline constexpr std::uint64_t kCheckMask = 0xffff;

/// "mapping", "pool memory".
const char* name(ObjectKind kind);

}  // namespace cuvmm::last_calls
