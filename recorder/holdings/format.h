// SPDX-License-Identifier: Apache-2.0
// The objects that a process holds, in a file that others read while the process runs. This file
// defines the bytes of the section, for the writer and the readers. The file lives as long as the
// process.
//
// One thread at a time writes (the shim, under its session's lock). Readers map the file and take
// no lock: each slot has a sequence that is odd while the slot is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "recorder/file_format.h"
#include "rulebook/objects/objects.h"

namespace cuvmm::holdings {

using recorder::kTextBytes;

/// The number of objects of each kind that the file can hold. Further objects are counted in
/// Sums::missed and not shown.
inline constexpr std::size_t kObjects = std::size_t{1} << 18;
inline constexpr std::size_t kExports = std::size_t{1} << 14;
inline constexpr std::size_t kTeams = std::size_t{1} << 12;
inline constexpr std::size_t kStacks = std::size_t{1} << 14;
inline constexpr std::size_t kFrames = 12;
/// The number of Python functions in a stack (the innermost ones), the number of places in Python
/// programs that all stacks can name, and the bytes for the names of these places.
inline constexpr std::size_t kPythonFrames = 16;
inline constexpr std::size_t kPythonLines = std::size_t{1} << 15;
inline constexpr std::size_t kNamesBytes = std::size_t{4} << 20;

/// Physical memory, and a name for it (a hash) that is equal in every process of the machine. The
/// name is 0 where none is known: device files of a real driver have none.
struct MemoryHeld {
  Allocation allocation;
  std::uint64_t shared = 0;
};
struct Descriptor {
  /// kExported: this process exported it. kReceived: this process imported memory from it. kDmaBuf:
  /// a dma-buf of a range.
  enum class Kind : std::uint64_t { kExported, kReceived, kDmaBuf, kCount };
  Export exported;           ///< used by all kinds; its handle is the import's, or 0
  std::uint64_t shared = 0;  ///< the memory's name, as in MemoryHeld
  Kind kind = Kind::kExported;
};
/// Memory without cuMemAddressReserve and cuMemCreate: of cuMemAlloc and its kin, of pools, of
/// legacy IPC.
struct Piece {
  enum class Kind : std::uint64_t { kDevice, kManaged, kHost, kRegistered, kPool, kIpc, kCount };
  std::uint64_t base = 0;
  std::uint64_t size = 0;  ///< bytes; 0 unknown
  Kind kind = Kind::kDevice;
  std::int64_t device = -1;  ///< -1 unknown
  std::uint64_t more = 0;  ///< of a pool: the pool's handle; of IPC: the hash of the handle's bytes
  Origin made;
  std::uint64_t left = 0;  ///< 1: memory of a pool that this process destroyed
};
/// A multicast object: its team, and the part of this process in it. Its handle is also among the
/// memory.
struct Team {
  std::uint64_t handle = 0;
  std::uint64_t size = 0;      ///< bytes; 0 unknown
  std::uint64_t wanted = 0;    ///< devices that the object is made for; 0 unknown
  std::uint64_t added = 0;     ///< mask of the devices that this process added
  std::uint64_t bindings = 0;  ///< of this process
  std::uint64_t bound = 0;     ///< bytes of these bindings
  std::uint64_t shared = 0;    ///< 1: exported or imported, so other processes may take part
  Origin made;
};

// The key by which a record is found. No record has the key 0, because 0 marks an empty slot.
inline std::uint64_t key_of(const Reservation& r) { return r.base; }
inline std::uint64_t key_of(const Mapping& m) { return m.base; }
inline std::uint64_t key_of(const MemoryHeld& m) { return m.allocation.handle; }
inline std::uint64_t key_of(const Descriptor& d) {
  return static_cast<std::uint64_t>(d.exported.fd) + 1;
}
inline std::uint64_t key_of(const Piece& p) { return p.base; }
inline std::uint64_t key_of(const Team& t) { return t.handle; }

template <class Record>
inline constexpr std::size_t kCapacity = kObjects;
template <>
inline constexpr std::size_t kCapacity<Descriptor> = kExports;
template <>
inline constexpr std::size_t kCapacity<Team> = kTeams;

/// A slot is whole while `sequence` is even, and empty while `key` is 0.
template <class Record>
struct Slot {
  static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) % 8 == 0);
  static constexpr std::size_t kWords = sizeof(Record) / 8;
  std::uint64_t sequence;
  std::uint64_t key;
  std::uint64_t words[kWords];
};

/// A stack, innermost frame first; a 0 ends each list.
struct StackSlot {
  static constexpr std::uint64_t kEntry = std::uint64_t{1} << 63;  ///< frames::PythonLine::entry
  std::uint64_t frames[kFrames];                                   ///< return addresses
  std::uint64_t python[kPythonFrames];  ///< frames::PythonLine::number, and kEntry
  std::uint64_t function;  ///< position in Image::names of the function that was called; 0 unknown
};

/// A place in a Python program. Its names end with a zero byte. The writer writes a place before a
/// stack names it.
struct LineSlot {
  std::uint32_t function, file;  ///< positions in Image::names at which the names begin
  std::uint64_t line;
};

/// Bytes and counts, updated with each change, so that a reader of many processes reads nothing
/// else.
struct Sums {
  std::uint64_t reservations, reserved;
  std::uint64_t mappings, mapped;
  std::uint64_t allocations, used,
      unused;  ///< memory of this process that is mapped somewhere, or nowhere
  std::uint64_t imports, imported;
  std::uint64_t exports, exported;
  std::uint64_t received,
      dma_bufs;  ///< descriptors from which this process imported, and dma-bufs of ranges
  std::uint64_t plain, plain_bytes;  ///< of cuMemAlloc and cuMemAllocManaged
  std::uint64_t host, host_bytes;    ///< page-locked: allocated, or registered
  std::uint64_t pool, pool_bytes;
  std::uint64_t ipc, ipc_bytes;  ///< memory opened by legacy IPC
  std::uint64_t teams;           ///< multicast objects
  std::uint64_t missed;          ///< objects for which the file had no slot
};

struct Header {
  recorder::FileHeader file;
  // The calls of a block's life write the next eight words, in one cache line.
  std::uint64_t calls;  ///< number of the last call that changed an object
  Sums sums;
  /// Slots of each kind that are in use or were used before. The slots after these were never
  /// written.
  std::uint64_t used[6];
};
static_assert(offsetof(Header, calls) % 64 == 0 &&
              offsetof(Header, sums) + offsetof(Sums, imports) == offsetof(Header, calls) + 64);

struct Image {
  union {
    Header header;
    char page[4096];
  };
  StackSlot stacks[kStacks];
  alignas(4096) LineSlot lines[kPythonLines];  ///< by frames::PythonLine::number
  alignas(4096) char names[kNamesBytes];
  alignas(4096) Slot<Reservation> reservations[kObjects];
  alignas(4096) Slot<Mapping> mappings[kObjects];
  alignas(4096) Slot<MemoryHeld> memory[kObjects];
  alignas(4096) Slot<Descriptor> descriptors[kExports];
  alignas(4096) Slot<Piece> pieces[kObjects];
  alignas(4096) Slot<Team> teams[kTeams];
};
static_assert(sizeof(Header) <= 4096);

inline std::size_t table_number(const Slot<Reservation>*) { return 0; }
inline std::size_t table_number(const Slot<Mapping>*) { return 1; }
inline std::size_t table_number(const Slot<MemoryHeld>*) { return 2; }
inline std::size_t table_number(const Slot<Descriptor>*) { return 3; }
inline std::size_t table_number(const Slot<Piece>*) { return 4; }
inline std::size_t table_number(const Slot<Team>*) { return 5; }

inline constexpr recorder::Shape kShape{
    recorder::Section::kHoldings,
    (((sizeof(Image) * 31 + sizeof(Reservation)) * 31 + sizeof(Mapping)) * 31 +
     sizeof(Allocation)) *
            31 +
        sizeof(Sums),
    sizeof(Image)};

}  // namespace cuvmm::holdings
