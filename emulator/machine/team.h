// SPDX-License-Identifier: Apache-2.0
// The state that the processes of a multicast object share: a memfd with its team and what is
// bound.
#pragma once

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emulator/base/descriptor.h"

namespace cuvmm::emulator {

/// What a team is of. It stands in the file too, so that none passes for another.
enum class TeamKind : std::uint32_t { kMulticast, kUnicastEndpoint, kMulticastEndpoint };

/// One process's view of a multicast object, or of a logical endpoint. Nothing that other processes
/// write is believed: sizes and devices are read once and checked, the rest is checked at each use.
/// No locks are shared, so that a process that dies or lies holds up nobody. Not thread-safe, but
/// for wait() and complete().
class Team {
 public:
  /// A new object of `size` bytes for `devices` devices; null when the host has no memory left.
  static std::shared_ptr<Team> create(unsigned devices, std::uint64_t size,
                                      TeamKind kind = TeamKind::kMulticast);
  /// The object behind a descriptor, of which it keeps a copy; null when it is none. `machine`: how
  /// many devices there are.
  static std::shared_ptr<Team> open(int fd, int machine);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  TeamKind kind() const { return kind_; }
  unsigned devices() const { return devices_; }
  std::uint64_t size() const { return size_; }
  /// The memfd, -1 when the program closed it; not a copy.
  int descriptor() const { return file_.get(); }

  /// Mask of the devices that any process added.
  std::uint64_t added() const;
  bool complete() const;
  /// False when it is a member already, or the team is complete.
  bool add(int device);
  /// Until the team is complete or the time is over.
  void wait(std::chrono::milliseconds timeout) const;

  /// A piece of memory: the memfd of an allocation, and where in it the piece starts.
  struct Memory {
    int fd = -1;
    std::uint64_t offset = 0;
    std::uint64_t behind = 0;  ///< bytes behind the binding that no other may take
  };
  /// Binds [offset, offset + size) for `device`. INVALID_VALUE when a byte of it is bound for that
  /// device already, OUT_OF_MEMORY when the object has no room for another binding.
  CUresult bind(int device, std::uint64_t offset, std::uint64_t size, const Memory& memory);
  /// How many bindings keep bytes behind them free: their memory begins in the middle of a granule.
  std::size_t unaligned() const;
  /// Ends a binding of this process; false when there is none of the device at the offset.
  bool unbind(int device, std::uint64_t offset);

  /// Why [offset, offset + size) cannot be written: not every device has every byte bound. Empty
  /// when it can.
  std::string unwritable(std::uint64_t offset, std::uint64_t size) const;
  /// Writes to the memory of every device; false when a binding vanished meanwhile.
  bool write(std::uint64_t offset, const char* bytes, std::uint64_t size) const;
  /// Reads the memory of the first device, of which a unicast endpoint has one; false as above.
  bool read(std::uint64_t offset, char* bytes, std::uint64_t size) const;

 private:
  struct Shared;
  struct Entry;
  /// What one binding says, copied and checked.
  struct Binding {
    std::uint64_t state = 0;
    int process = 0;
    int device = 0;
    std::uint64_t offset = 0, size = 0, memory_offset = 0, inode = 0, behind = 0;
    int fd = -1;
  };
  struct Piece;

  Team(Descriptor file, Shared* shared, TeamKind kind, unsigned devices, std::uint64_t size,
       int machine);
  /// The entries that may hold something.
  std::span<Entry> used() const;
  bool read(const Entry& entry, Binding& out) const;
  /// The binding's memory, opened for writing; -1 when its process or the memory is gone.
  static int open_memory(const Binding& binding);
  /// The parts of a range by device; the reason, when some byte is bound nowhere.
  std::string pieces(std::uint64_t offset, std::uint64_t size, std::vector<Piece>& out) const;

  Descriptor file_;
  Shared* shared_;
  TeamKind kind_;
  unsigned devices_;
  std::uint64_t size_;
  std::uint64_t machine_mask_;
};

}  // namespace cuvmm::emulator
