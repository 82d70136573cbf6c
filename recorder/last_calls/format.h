// SPDX-License-Identifier: Apache-2.0
// A process's last calls, in a file that outlives the process. This file defines the bytes of the
// section, for the writer and the readers. Every part of the file has its place from the start, so
// a process that dies in the middle of a call leaves a whole file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "recorder/file_format.h"

namespace cuvmm::last_calls {

using recorder::kTextBytes;

inline constexpr std::size_t kCalls =
    4096;  ///< the number of last calls that the file keeps; a power of two
inline constexpr std::size_t kEnds = 4096;  ///< the number of ends of objects; a power of two
inline constexpr std::size_t kThreads =
    256;  ///< threads whose current call stays, however many calls others make
inline constexpr std::size_t kEntries = 512;  ///< entry points that can have a name
inline constexpr std::size_t kLive = 2048;    ///< objects that lived at the fault
inline constexpr std::size_t kMapsBytes = std::size_t{256} << 10;
inline constexpr std::size_t kWords = 4;      ///< arguments of a call
inline constexpr std::size_t kStacks = 2048;  ///< stacks of calls that ended objects
inline constexpr std::size_t kFrames = 15;    ///< the innermost return addresses of a stack

/// The upper half of a call's result has the lower half of the sequence. The lower half has a
/// CUresult, or one of these.
inline constexpr std::uint32_t kPending = 0xffffffff;  ///< the call has not returned
inline constexpr std::uint32_t kUnwound = 0xfffffffe;  ///< its thread was cancelled during the call

enum class State : std::uint32_t { kRunning, kExited, kSignal };

/// How an argument is printed.
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
  // Memory that `cuvmm run --guard` and `--quarantine` forbid the program to use.
  kGuardBefore,  ///< the guard ends where a reservation begins
  kGuardBehind,  ///< the guard begins where a reservation ends
  kQuarantined,  ///< a reservation that was freed
  kCount
};

/// The names of an entry point and of the arguments in its records. Longer names are cut off;
/// shorter ones end with a zero byte.
struct EntryRow {
  char name[60];
  char words[kWords][16];
  WordKind kinds[kWords];
};
static_assert(sizeof(EntryRow) == 128);

/// One call. A record is whole if `sequence` is not 0 and the check in `who` is right.
struct CallRecord {
  std::uint64_t sequence;  ///< 1-based number of the call in this process; 0: being written
  std::uint64_t ticks;     ///< when the call began (Header says how long a tick is)
  std::uint64_t who;       ///< thread in the upper half, then 16 bits entry point, 16 bits check
  std::uint64_t words[kWords];
  std::uint64_t result;  ///< lower half of the sequence above, then the CUresult or kPending
};
static_assert(sizeof(CallRecord) == 64);

/// The end of one object, in one cache line.
struct EndRecord {
  std::uint64_t sequence;  ///< 1-based number of the end; 0: being written
  std::uint64_t ticks;     ///< when the call began that ended the object
  std::uint64_t who;       ///< thread, then 8 bits device + 1, 8 bits ObjectKind, 16 bits check
  std::uint64_t base;
  std::uint64_t size;
  std::uint64_t made;   ///< number of the call, as findings print it; 0 unknown
  std::uint64_t ended;  ///< the same in the lower kNumberBits bits, then the number of the stack
  std::uint64_t call;   ///< sequence of the call that ended the object
};
static_assert(sizeof(EndRecord) == 64);
inline constexpr unsigned kNumberBits = 47;
inline constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1;

/// The stack n of calls that ended objects, at n % kStacks; a newer stack may have taken its place.
struct StackSlot {
  std::uint64_t who;              ///< the stack's number, then 16 bits check; 0: no stack
  std::uint64_t frames[kFrames];  ///< return addresses, innermost first; 0: no more
};
static_assert(sizeof(StackSlot) == 128);

struct LiveRecord {
  std::uint64_t base;
  std::uint64_t size;
  std::uint64_t made;
  std::uint64_t who;  ///< as in EndRecord, without thread and check
};
static_assert(sizeof(LiveRecord) == 32);

/// All members are words of 64 bits, so that each is read and written at once.
struct Header {
  recorder::FileHeader file;
  std::uint64_t calls;  ///< number of calls until now
  std::uint64_t entries;
  std::uint64_t ends;
  std::uint64_t state;  ///< State
  std::uint64_t signal;
  std::uint64_t fault_result;  ///< first CUresult that reports a fault on the device; 0: none
  std::uint64_t fault_call;    ///< sequence of the call that returned that result
  std::uint64_t fault_ticks;
  std::uint64_t address_known;  ///< 1: `address` is the address of the fault
  std::uint64_t address;
  std::uint64_t live;        ///< number of records of objects that lived at the fault
  std::uint64_t live_total;  ///< number of objects that lived, with or without a record
  std::uint64_t maps_bytes;
};

/// A thread's call, in a cache line of its own, because the thread writes it with each call.
struct alignas(64) ThreadSlot {
  std::uint64_t call;     ///< sequence of the call that is in the driver; 0: none
  std::uint64_t owner;    ///< the kernel's number of the thread; 0: the slot is free
  std::uint64_t created;  ///< sequence of its last cuMemCreate that succeeded; 0: none
  /// `created` at its last cuMemMap or cuMemRelease that succeeded. Calls of other threads replace
  /// the records of these calls.
  std::uint64_t gone_on;
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
  /// The record of a call that is still in the driver after newer calls took its place in `calls`;
  /// the index is the thread's slot. The record counts while the slot names its sequence.
  CallRecord waiting[kThreads];
  EndRecord ends[kEnds];
  StackSlot stacks[kStacks];
  LiveRecord live[kLive];
  char maps[kMapsBytes];  ///< the text of /proc/self/maps
};
static_assert(sizeof(Header) <= 4096);
static_assert(sizeof(Image) % 4096 == 0);

inline constexpr recorder::Shape kShape{
    recorder::Section::kLastCalls,
    (((sizeof(Image) * 31 + sizeof(EntryRow)) * 31 + sizeof(EndRecord)) * 31 +
     static_cast<std::uint64_t>(ObjectKind::kCount)),
    sizeof(Image)};

/// Folds a sum of the record's words into a check of 16 bits.
inline std::uint64_t fold(std::uint64_t sum) noexcept { return sum * 0x9e3779b97f4a7c15u >> 48; }
/// One instruction: a call pays for each word.
inline std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) noexcept {
  return sum * 8 + word;
}
/// `who` with the check that the record must have; the parameter is `who` without it.
inline std::uint64_t check_of(const CallRecord& r, std::uint64_t who) noexcept {
  std::uint64_t sum = mixed(mixed(r.sequence, r.ticks), who);
  for (const std::uint64_t word : r.words) sum = mixed(sum, word);
  return fold(sum);
}
inline std::uint64_t check_of(const EndRecord& r, std::uint64_t who) noexcept {
  std::uint64_t sum = mixed(mixed(r.sequence, r.ticks), who);
  for (const std::uint64_t word : {r.base, r.size, r.made, r.ended, r.call}) sum = mixed(sum, word);
  return fold(sum);
}
inline std::uint64_t check_of(const StackSlot& slot, std::uint64_t number) noexcept {
  std::uint64_t sum = number;
  for (const std::uint64_t word : slot.frames) sum = mixed(sum, word);
  return fold(sum);
}
inline constexpr std::uint64_t kCheckMask = 0xffff;

/// "mapping", "pool memory".
const char* name(ObjectKind kind);

}  // namespace cuvmm::last_calls
